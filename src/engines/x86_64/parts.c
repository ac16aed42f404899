/*
 * parts.c: which code is the cold part of a function (platform_is_part), for programs that have no
 * symbols to say so.
 *
 * The core asks of code whose frame is described right behind that of the function, but which lies
 * before it or does not begin as a function does. It is a part of it
 *   - if it jumps into the middle of the function; or
 *   - if the function jumps to it on a condition, or not to its beginning: compilers make tail calls
 *     by unconditional jumps to where functions begin; or
 *   - if the function jumps to it, and it begins in mid-frame, as no function does; or
 *   - if the function jumps to it, and it does not return: it leaves by jumps to the function or not
 *     at all. Functions that do not return are called, never jumped to, if the compiler knows it, and
 *     of those in the same file it does.
 * What is left is jumped to without a condition, or through a table, and returns: a tail call, or a
 * part that can be told from one by nothing in the file. It stays a tail call.
 */
#include "core/platform.h"
#include "engines/x86_64/code_reader.h"

static bool is_in(struct platform_stretch code, uint64_t address)
{
    return address >= code.start && address < code.end;
}

static bool is_direct_jump(const struct instruction *instruction)
{
    return instruction->class == CLASS_JUMP || instruction->class == CLASS_JUMP_IF;
}

enum jumps { JUMPS_NEVER, JUMPS_AS_TAIL_CALLS_DO, JUMPS_AS_PARTS_DO };

static enum jumps jumps_between(struct platform_stretch whole, struct platform_stretch part)
{
    struct code_reader reader;
    struct instruction found;
    enum jumps jumps = JUMPS_NEVER;

    code_reader_init(&reader, whole.start, whole.end);
    while (code_reader_next(&reader, &found)) {
        uint64_t target = reader.at + found.immediate;
        if (!is_direct_jump(&found) || !is_in(part, target))
            continue;
        if (found.class == CLASS_JUMP_IF || target != part.start)
            return JUMPS_AS_PARTS_DO;
        jumps = JUMPS_AS_TAIL_CALLS_DO;
    }
    return jumps;
}

enum ends { ENDS_ELSEWHERE, ENDS_IN_IT, GOES_BACK };

/* Does the part go back into the middle of the function, or at least never leave it by a return or by
 * another jump? */
static enum ends end_of(struct platform_stretch whole, struct platform_stretch part)
{
    struct code_reader reader;
    struct instruction found;
    bool leaves = false;

    code_reader_init(&reader, part.start, part.end);
    while (code_reader_next(&reader, &found)) {
        uint64_t target = reader.at + found.immediate;
        bool jumps = is_direct_jump(&found);
        if (jumps && is_in(whole, target) && target != whole.start)
            return GOES_BACK;
        leaves |= (jumps && !is_in(whole, target) && !is_in(part, target)) ||
                  found.class == CLASS_RETURN || found.class == CLASS_JUMP_INDIRECT;
    }
    return leaves || reader.at != part.end ? ENDS_ELSEWHERE : ENDS_IN_IT;
}

bool platform_is_part(struct platform_stretch whole, struct platform_stretch part,
                      bool in_mid_frame)
{
    enum ends end = end_of(whole, part);

    if (end == GOES_BACK)
        return true;
    enum jumps jumps = jumps_between(whole, part);
    return jumps == JUMPS_AS_PARTS_DO ||
           (jumps == JUMPS_AS_TAIL_CALLS_DO && (in_mid_frame || end == ENDS_IN_IT));
}

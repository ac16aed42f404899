/*
 * flags.c: are the arithmetic flags overwritten before they are read? Where they are, the cache may
 * use them. Nothing is assumed of calls and returns: both ways of a branch are looked at, a few
 * instructions far, and code that may change proves nothing. But CPython's evaluator is compiled C,
 * and no compiler hands flags to a function, back to who called it, or on to wherever a jump may go.
 */
#include "engines/native/maps.h"
#include "engines/native/translation.h"
#include "engines/x86_64/code_reader.h"
#include <sys/mman.h>

#define LOOK_AHEAD 20 /* instructions */
#define BRANCHES   2  /* on one way */

static bool ends_compiled_flags(const struct instruction *instruction)
{
    return instruction->class == CLASS_CALL || instruction->class == CLASS_CALL_INDIRECT ||
           instruction->class == CLASS_RETURN || instruction->class == CLASS_JUMP_INDIRECT;
}

/* Flags that are not in `dead` are overwritten before they are read, from `pc` on. Looks at both
 * ways of a branch, `branches` deep. */
static bool flags_die(uint64_t pc, bool compiled, unsigned dead, unsigned branches)
{
    struct mapping mapping;
    if (!maps_find(pc, &mapping) || maps_may_change(pc) || !(mapping.protection & PROT_EXEC))
        return false; /* code that may change proves nothing */
    struct code_reader reader;
    code_reader_init(&reader, pc, mapping.end);
    for (unsigned looked = 0; looked < LOOK_AHEAD; looked++) {
        struct instruction instruction;
        if (reader.at < mapping.start || !code_reader_next(&reader, &instruction))
            return false;
        if (instruction.flags_read & ~dead)
            return false;
        dead |= instruction.flags_killed;
        if (dead == FLAGS_ALL || (compiled && ends_compiled_flags(&instruction)))
            return true;
        switch (instruction.class) {
        case CLASS_ORDINARY:
            break;
        case CLASS_JUMP:
        case CLASS_CALL:
            reader.at += instruction.immediate;
            break;
        case CLASS_JUMP_IF:
            if (!branches ||
                !flags_die(reader.at + instruction.immediate, compiled, dead, branches - 1))
                return false;
            break;
        default:
            return false;
        }
    }
    return false;
}

bool flags_dead_at(uint64_t pc)
{
    return flags_die(pc, false, 0, BRANCHES);
}

bool flags_dead_at_target(const struct translation *t, unsigned index)
{
    return flags_die(branch_target(t, index), t->evaluates, 0, BRANCHES);
}

bool flags_dead(const struct translation *t, unsigned at)
{
    unsigned dead = 0;
    for (unsigned i = at; i < t->count; i++) {
        const struct instruction *instruction = &t->instructions[i];
        if (instruction->flags_read & ~dead)
            return false;
        dead |= instruction->flags_killed;
        if (dead == FLAGS_ALL || (t->evaluates && ends_compiled_flags(instruction)))
            return true;
        switch (instruction->class) {
        case CLASS_ORDINARY:
            break;
        case CLASS_JUMP_IF:
            if (!flags_die(branch_target(t, i), t->evaluates, dead, BRANCHES))
                return false;
            break;
        case CLASS_JUMP:
        case CLASS_CALL:
            return flags_die(branch_target(t, i), t->evaluates, dead, BRANCHES);
        default:
            return false;
        }
    }
    return !t->checked && t->end == END_CUT &&
           flags_die(t->pc + t->source_size, t->evaluates, dead, BRANCHES);
}

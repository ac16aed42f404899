/* python_stores.c: see python_stores.h. */
#include "engines/native/python_stores.h"
#include "core/python.h"
#include "engines/x86_64/python_prologue.h"
#include "engines/native/record.h"
#include "engines/native/turns.h"
#include "engines/native/thread.h"

#define LARGEST_BYTES 64 /* of a vector register */

/* Arithmetic, moves and shifts of the first map. */
static bool writes_first_map(const struct instruction *instruction)
{
    uint8_t opcode = instruction->opcode, operation = instruction->modrm >> 3 & 7;
    if (opcode < 0x38)
        return (opcode & 7) < 2;
    switch (opcode) {
    case 0x80 ... 0x83:
        return operation != 7;
    case 0xf6 ... 0xf7:
        return operation == 2 || operation == 3;
    case 0xfe ... 0xff:
        return operation < 2;
    case 0x86 ... 0x89:
    case 0x8f:
    case 0xc0 ... 0xc1:
    case 0xc6 ... 0xc7:
    case 0xd0 ... 0xd3:
        return true;
    default:
        return false;
    }
}

/* Everything but the loads that there are most of. */
static bool writes_second_map(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case 0x10:
    case 0x12:
    case 0x16:
    case 0x28:
    case 0x2e ... 0x2f:
    case 0x40 ... 0x5f:
    case 0x60 ... 0x6f:
    case 0xaf:
    case 0xb6 ... 0xb7:
    case 0xbe ... 0xbf:
        return false;
    default:
        return true;
    }
}

/* How many bytes of memory it writes, at most; 0: none. */
static unsigned bytes_written(const struct instruction *instruction)
{
    if (instruction->class != CLASS_ORDINARY || !instruction->modrm_offset ||
        instruction->modrm >> 6 == 3 || instruction->rip_relative)
        return 0;
    bool first = instruction->encoding == ENCODING_LEGACY && instruction->map == 0;
    if (first ? !writes_first_map(instruction)
              : instruction->encoding == ENCODING_LEGACY && instruction->map == 1 &&
                    !writes_second_map(instruction))
        return 0;
    if (!first)
        return LARGEST_BYTES;
    if (!(instruction->opcode & 1) && instruction->opcode != 0x8f)
        return 1;
    return instruction->rex & 8 || instruction->opcode == 0x8f ? 8
           : instruction->prefixes & PREFIX_66                 ? 2
                                                               : 4;
}

/* Does the operand begin at or before `offset` from its base, and reach it? */
static bool reaches(const struct instruction *instruction, int64_t offset, unsigned size_bytes)
{
    int64_t before = offset - instruction->displacement;
    return before >= 0 && before < size_bytes;
}

static unsigned base_of(const struct instruction *instruction)
{
    unsigned rm = instruction->modrm & 7;
    return (rm == 4 ? instruction->sib & 7 : rm) | (instruction->rex & 1) << 3;
}

/* Does it store to the evaluator's C frame where the word is? */
static bool reaches_word(struct python_module *python, const struct instruction *instruction,
                         unsigned size_bytes)
{
    unsigned base = base_of(instruction);
    unsigned index = (instruction->rex & 2) << 2 | (instruction->sib >> 3 & 7);
    bool has_index = (instruction->modrm & 7) == 4 && index != 4;
    if (!python_finds_frame(python) || has_index)
        return base == REGISTER_RSP || (base == REGISTER_RBP && instruction->displacement < 0);
    return base == REGISTER_RSP &&
           python_stores_word(python, instruction->displacement, size_bytes);
}

bool python_may_set_frame(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    if (!t->evaluates || !python_word_is_known(t->python))
        return false;
    unsigned size_bytes = bytes_written(instruction);
    if (size_bytes < 8)
        return false;
    if (!t->python->layout.has_c_frame)
        return reaches(instruction, t->python->layout.state_frame, size_bytes);
    return reaches_word(t->python, instruction, size_bytes);
}

bool python_may_set_line(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    if (!t->evaluates || !options.line_detail)
        return false;
    unsigned size_bytes = bytes_written(instruction);
    return size_bytes >= t->python->layout.ip_bytes &&
           reaches(instruction, t->python->layout.frame_ip, size_bytes);
}

/* A block that begins there would not know that a frame was stored before; or would look at one
 * that may still be incomplete. */
bool python_cuts(const struct translation *t, unsigned index)
{
    if (!python_may_set_line(t, index))
        return false;
    if (turns_are_on() || t->python->handlers || !python_word_is_known(t->python))
        return true;
    bool stored = python_may_set_frame(t, index);
    for (unsigned i = index; i-- > 0 && t->instructions[i].class == CLASS_ORDINARY;)
        stored |= python_may_set_frame(t, i);
    return stored;
}

/* python_stores.c: see python_stores.h. */
#include "engines/native/python_stores.h"
#include "core/python.h"
#include "engines/x86_64/python_prologue.h"
#include "engines/native/record.h"
#include "engines/native/stores.h"
#include "engines/native/turns.h"
#include "engines/native/thread.h"

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

static bool has_index(const struct instruction *instruction)
{
    unsigned index = (instruction->rex & 2) << 2 | (instruction->sib >> 3 & 7);
    return (instruction->modrm & 7) == 4 && index != 4;
}

/* Does it store to the evaluator's C frame where the word is? */
static bool reaches_word(struct python_module *python, const struct instruction *instruction,
                         unsigned size_bytes)
{
    unsigned base = base_of(instruction);
    if (!python_finds_frame(python) || has_index(instruction))
        return base == REGISTER_RSP || (base == REGISTER_RBP && instruction->displacement < 0);
    return base == REGISTER_RSP &&
           python_stores_word(python, instruction->displacement, size_bytes);
}

static bool may_store_word(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    unsigned size_bytes = bytes_stored(instruction);
    if (size_bytes < 8 || instruction->rip_relative)
        return false;
    if (!t->python->layout.has_c_frame)
        return reaches(instruction, t->python->layout.state_frame, size_bytes);
    return reaches_word(t->python, instruction, size_bytes);
}

/* The evaluator's first store to the word makes the frame current that it was called with. */
static bool is_told(const struct translation *t, unsigned index)
{
    if (t->pc != t->python->evaluator + t->python->module->bias || !python_brings_frame(t->python))
        return false;
    for (unsigned i = 0; i < index; i++)
        if (may_store_word(t, i))
            return false;
    return true;
}

bool python_may_set_frame(const struct translation *t, unsigned index)
{
    return t->evaluates && python_word_is_known(t->python) && may_store_word(t, index) &&
           !is_told(t, index);
}

static bool has_opcode(const struct instruction *instruction, uint8_t opcode)
{
    return instruction->encoding == ENCODING_LEGACY && instruction->map == 0 &&
           instruction->opcode == opcode;
}

/* Does it store what the instruction before it has made, an address on the stack? That is no instruction
 * pointer: a thread state of 3.11 or 3.12 has its C frame's at the same offset. */
static bool stores_stack_address(const struct translation *t, unsigned index)
{
    const struct instruction *store = &t->instructions[index], *before = store - 1;
    return index && has_opcode(store, 0x89) && has_opcode(before, 0x8d) && !before->rip_relative &&
           !has_index(before) && base_of(before) == REGISTER_RSP &&
           instruction_reg(before) == instruction_reg(store);
}

bool python_may_set_line(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    if (!t->evaluates || !options.line_detail || instruction->rip_relative)
        return false;
    unsigned size_bytes = bytes_stored(instruction);
    return size_bytes >= t->python->layout.ip_bytes &&
           reaches(instruction, t->python->layout.frame_ip, size_bytes) &&
           !stores_stack_address(t, index);
}

unsigned python_frame_register(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    const struct python_layout *layout = &t->python->layout;
    bool whole = instruction->displacement == layout->frame_ip &&
                 bytes_stored(instruction) == layout->ip_bytes;
    return whole && !has_index(instruction) ? base_of(instruction) : NO_FRAME_REGISTER;
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

unsigned python_whole_until(const struct translation *t)
{
    unsigned count = t->count;
    for (unsigned i = t->count;
         t->evaluates && i-- > 1 && t->instructions[i].class == CLASS_ORDINARY;)
        if (python_may_set_frame(t, i))
            count = i;
    return count;
}

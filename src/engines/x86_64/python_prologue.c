/* python_prologue.c: see python_prologue.h. */
#include "engines/x86_64/python_prologue.h"
#include "core/code.h"
#include "engines/x86_64/code_reader.h"

#define PROLOGUE_BYTES 256
#define PUSHED_MOST    64 /* bytes */
#define RSP            4
#define RBP            5
#define UNKNOWN_FRAME  UINT32_MAX

static bool is_first_map(const struct instruction *instruction)
{
    return instruction->encoding == ENCODING_LEGACY && instruction->map == 0;
}

/* sub rsp, constant */
static bool makes_room(const struct instruction *instruction)
{
    return is_first_map(instruction) && (instruction->opcode | 2) == 0x83 &&
           instruction->modrm == 0xec && instruction->rex == 0x48 && instruction->immediate > 0;
}

/* May it set `reg`, of the first eight, by its operands? May be true without need. */
static bool may_set(const struct instruction *instruction, unsigned reg)
{
    bool loads = instruction->opcode == 0x8b || instruction->opcode == 0x8d;
    if (!is_first_map(instruction) || !instruction->modrm_offset)
        return false;
    return loads ? instruction_reg(instruction) == reg
                 : instruction->modrm >= 0xc0 && instruction_rm(instruction) == reg;
}

/* How far the evaluator's stack pointer is below where it was at its first instruction, once it has
 * its C frame: by what compilers push, and the room they then make. */
static uint32_t frame_bytes(uint64_t pc)
{
    struct code_reader reader;
    struct instruction instruction;
    uint32_t pushed = 0;
    code_reader_init(&reader, pc, pc + PROLOGUE_BYTES);
    while (code_reader_next(&reader, &instruction) && instruction.class == CLASS_ORDINARY) {
        if (makes_room(&instruction))
            return pushed + (uint32_t)instruction.immediate;
        unsigned group = is_first_map(&instruction) ? instruction.opcode & 0xf8 : 0;
        if (group == 0x50)
            pushed += 8;
        /* A frame pointer is another way to reach the word, and a pop nothing to be expected. */
        if (group == 0x58 || may_set(&instruction, RSP) || may_set(&instruction, RBP))
            break;
    }
    return UNKNOWN_FRAME;
}

bool python_finds_frame(struct python_module *python)
{
    if (!python->stack_bytes)
        python->stack_bytes = frame_bytes(python->evaluator + python->module->bias);
    return python->stack_bytes != UNKNOWN_FRAME;
}

bool python_brings_frame(struct python_module *python)
{
    return python->layout.frame_is_entry && python->word_depth && python_finds_frame(python);
}

bool python_stores_word(const struct python_module *python, int64_t displacement,
                        unsigned size_bytes)
{
    int64_t word = (int64_t)python->stack_bytes + 8 - (int64_t)python->word_depth;
    for (unsigned pushed = 0; pushed <= PUSHED_MOST; pushed += 8) {
        int64_t before = word + pushed - displacement;
        if (before >= 0 && before < size_bytes)
            return true;
    }
    return false;
}

/* stack_pointer.c: see stack_pointer.h. */
#include "engines/x86_64/stack_pointer.h"

enum { RSP = 4, RBP = 5 };

/* Has the opcode a part of its own in modrm, where others have a register? */
static bool is_group(uint8_t opcode)
{
    return (opcode >= 0x80 && opcode <= 0x83) || opcode == 0x8f || (opcode & 0xfe) == 0xc0 ||
           (opcode & 0xfe) == 0xc6 || (opcode & 0xfc) == 0xd0 || (opcode & 0xfe) == 0xf6 ||
           (opcode & 0xfe) == 0xfe;
}

static bool is_direct(const struct instruction *instruction)
{
    return instruction->modrm_offset && instruction->modrm >= 0xc0;
}

static bool names_stack(const struct instruction *instruction)
{
    bool as_reg = instruction->modrm_offset && !is_group(instruction->opcode) &&
                  instruction_reg(instruction) == RSP;
    return as_reg || (is_direct(instruction) && instruction_rm(instruction) == RSP);
}

static bool is_general(const struct instruction *instruction)
{
    return instruction->encoding == ENCODING_LEGACY && instruction->map <= 1;
}

/* Of opcodes with a register in them. */
static bool is_extended(const struct instruction *instruction)
{
    return instruction->rex & 1;
}

/* lea: is its base rsp or rbp? */
static bool is_based_on_frame(const struct instruction *instruction)
{
    unsigned rm = instruction->modrm & 7, base = rm == RSP ? instruction->sib & 7 : rm;
    bool absolute = base == RBP && instruction->modrm < 0x40;
    return (base == RSP || base == RBP) && !absolute && !is_extended(instruction);
}

bool stack_pointer_may_move(const struct instruction *instruction)
{
    unsigned operation = instruction->modrm >> 3 & 7;
    if (!is_general(instruction))
        return false;
    if (instruction->map == 1)
        return names_stack(instruction);
    switch (instruction->opcode) {
    case 0x5c: /* pop rsp */
    case 0x94: /* xchg */
    case 0xbc: /* mov esp, constant */
    case 0xc8: /* enter, leave */
    case 0xc9:
        return true;
    case 0x81: /* add, sub */
    case 0x83:
        return names_stack(instruction) && operation != 0 && operation != 5;
    default:
        return names_stack(instruction);
    }
}

bool stack_pointer_is_set(const struct instruction *instruction)
{
    bool to_reg = instruction_reg(instruction) == RSP;
    if (!is_general(instruction))
        return false;
    if (instruction->map == 1)
        return (instruction->opcode & 0xf0) == 0x40 && to_reg; /* cmov */
    switch (instruction->opcode) {
    case 0x8b: /* mov rsp, from */
        return to_reg && !(is_direct(instruction) && instruction_rm(instruction) == RBP);
    case 0x89: /* mov to, from */
        return is_direct(instruction) && instruction_rm(instruction) == RSP &&
               instruction_reg(instruction) != RBP;
    case 0x87: /* xchg */
        return names_stack(instruction);
    case 0x8d: /* lea */
        return to_reg && !is_based_on_frame(instruction);
    case 0x5c: /* pop rsp; xchg; mov esp, constant */
    case 0x94:
    case 0xbc:
        return !is_extended(instruction);
    default:
        return false;
    }
}

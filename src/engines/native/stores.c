/* stores.c: see stores.h. */
#include "engines/native/stores.h"

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
    case 0xd9: /* of the x87, rather too many */
    case 0xdb:
    case 0xdd:
    case 0xdf:
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
    case 0x18 ... 0x1f: /* hints, nop */
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

unsigned bytes_stored(const struct instruction *instruction)
{
    if (instruction->class != CLASS_ORDINARY || !instruction->modrm_offset ||
        instruction->modrm >> 6 == 3)
        return 0;
    bool first = instruction->encoding == ENCODING_LEGACY && instruction->map == 0;
    if (first ? !writes_first_map(instruction)
              : instruction->encoding == ENCODING_LEGACY && instruction->map == 1 &&
                    !writes_second_map(instruction))
        return 0;
    if (!first || (instruction->opcode & 0xf8) == 0xd8)
        return LARGEST_BYTES;
    if (!(instruction->opcode & 1) && instruction->opcode != 0x8f)
        return 1;
    return instruction->rex & 8 || instruction->opcode == 0x8f ? 8
           : instruction->prefixes & PREFIX_66                 ? 2
                                                               : 4;
}

/* movs, stos, ins, and the mov that has the address in it. */
static bool stores_without_operand(const struct instruction *instruction)
{
    if (instruction->encoding != ENCODING_LEGACY || instruction->map != 0)
        return false;
    switch (instruction->opcode) {
    case 0x6c ... 0x6d:
    case 0xa2 ... 0xa5:
    case 0xaa ... 0xab:
        return true;
    default:
        return false;
    }
}

bool may_store_to_code(const struct instruction *instruction)
{
    bool has_sib = (instruction->modrm & 7) == 4 && instruction->modrm < 0xc0;
    bool on_stack = has_sib && (instruction->sib & 7) == 4 && !(instruction->rex & 1);
    return stores_without_operand(instruction) || (bytes_stored(instruction) && !on_stack);
}

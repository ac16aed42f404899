/*
 * decode_tables.h: the rows behind decode.c.
 */
#ifndef TRUEFLAME_X86_64_DECODE_TABLES_H
#define TRUEFLAME_X86_64_DECODE_TABLES_H

#include "engines/x86_64/decode.h"

enum opcode_bits {
    OPCODE_VALID = 1,
    OPCODE_MODRM = 2,
    OPCODE_IMM8 = 4,
    OPCODE_IMM16 = 8,
    OPCODE_IMMZ = 16,  /* two bytes under 66, else four */
    OPCODE_IMMV = 32,  /* the same, eight under REX.W */
    OPCODE_MOFFS = 64, /* an address: eight bytes, four under 67 */
    OPCODE_REL32 = 128,
};

struct opcode_row {
    uint8_t bits;
    uint8_t flags_read, flags_killed;
};

extern const struct opcode_row opcode_one_byte[256];
extern const struct opcode_row opcode_0f[256];

#endif

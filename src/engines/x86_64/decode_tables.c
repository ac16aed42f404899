/*
 * decode_tables.c: the opcode maps, one row an opcode: what follows it and what it does to flags.
 *
 * Rows that are all zero are opcodes that do not exist in 64-bit mode. Flag columns are claims of
 * the kind decode.h promises; what depends on modrm or an immediate is settled in decode.c.
 */
#include "engines/x86_64/decode_tables.h"

#define X(bits)                                                                                    \
    {                                                                                              \
        (bits) | OPCODE_VALID, 0, 0                                                                \
    }
#define F(bits, read, kill)                                                                        \
    {                                                                                              \
        (bits) | OPCODE_VALID, (read), (kill)                                                      \
    }
#define M   OPCODE_MODRM
#define I1  OPCODE_IMM8
#define IZ  OPCODE_IMMZ
#define C   FLAG_CARRY
#define P   FLAG_PARITY
#define A   FLAG_ADJUST
#define Z   FLAG_ZERO
#define S   FLAG_SIGN
#define O   FLAG_OVERFLOW
#define ALL FLAGS_ALL

#define ARITHMETIC(base, read)                                                                     \
    [(base)...(base) + 3] = F(M, read, ALL), [(base) + 4] = F(I1, read, ALL),                      \
                       [(base) + 5] = F(IZ, read, ALL)

/* Conditions come in pairs, the second the negation of the first. */
#define CONDITIONS(base, bits)                                                                     \
    [(base)...(base) + 1] = F(bits, O, 0), [(base) + 2 ...(base) + 3] = F(bits, C, 0),             \
                       [(base) + 4 ...(base) + 5] = F(bits, Z, 0),                                 \
                       [(base) + 6 ...(base) + 7] = F(bits, C | Z, 0),                             \
                       [(base) + 8 ...(base) + 9] = F(bits, S, 0),                                 \
                       [(base) + 10 ...(base) + 11] = F(bits, P, 0),                               \
                       [(base) + 12 ...(base) + 13] = F(bits, S | O, 0),                           \
                       [(base) + 14 ...(base) + 15] = F(bits, S | O | Z, 0)

const struct opcode_row opcode_one_byte[256] = {
    ARITHMETIC(0x00, 0),
    ARITHMETIC(0x08, 0),
    ARITHMETIC(0x10, C),
    ARITHMETIC(0x18, C),
    ARITHMETIC(0x20, 0),
    ARITHMETIC(0x28, 0),
    ARITHMETIC(0x30, 0),
    ARITHMETIC(0x38, 0),
    [0x50 ... 0x5f] = X(0),
    [0x63] = X(M),
    [0x68] = X(IZ),
    [0x69] = F(M | IZ, 0, C | O),
    [0x6a] = X(I1),
    [0x6b] = F(M | I1, 0, C | O),
    [0x6c ... 0x6f] = X(0),
    CONDITIONS(0x70, I1),
    [0x80] = F(M | I1, 0, ALL),
    [0x81] = F(M | IZ, 0, ALL),
    [0x83] = F(M | I1, 0, ALL),
    [0x84 ... 0x85] = F(M, 0, ALL),
    [0x86 ... 0x8f] = X(M),
    [0x90 ... 0x99] = X(0),
    [0x9b] = X(0),
    [0x9c] = F(0, ALL, 0),
    [0x9d] = F(0, 0, ALL),
    [0x9e] = F(0, 0, C | P | A | Z | S),
    [0x9f] = F(0, C | P | A | Z | S, 0),
    [0xa0 ... 0xa3] = X(OPCODE_MOFFS),
    [0xa4 ... 0xa5] = X(0),
    [0xa6 ... 0xa7] = F(0, 0, ALL),
    [0xa8] = F(I1, 0, ALL),
    [0xa9] = F(IZ, 0, ALL),
    [0xaa ... 0xad] = X(0),
    [0xae ... 0xaf] = F(0, 0, ALL),
    [0xb0 ... 0xb7] = X(I1),
    [0xb8 ... 0xbf] = X(OPCODE_IMMV),
    [0xc0 ... 0xc1] = X(M | I1),
    [0xc2] = F(OPCODE_IMM16, 0, 0),
    [0xc3] = X(0),
    [0xc6] = X(M | I1),
    [0xc7] = X(M | IZ),
    [0xc8] = X(OPCODE_IMM16 | I1),
    [0xc9] = X(0),
    [0xca] = X(OPCODE_IMM16),
    [0xcb] = X(0),
    [0xcc] = F(0, ALL, 0),
    [0xcd] = F(I1, ALL, 0),
    [0xcf] = F(0, ALL, 0),
    [0xd0 ... 0xd3] = X(M),
    [0xd7] = X(0),
    [0xd8 ... 0xd9] = X(M),
    [0xda ... 0xdb] = F(M, C | P | Z, 0),
    [0xdc ... 0xdf] = X(M),
    [0xe0 ... 0xe1] = F(I1, Z, 0),
    [0xe2 ... 0xe3] = X(I1),
    [0xe4 ... 0xe7] = X(I1),
    [0xe8 ... 0xe9] = X(OPCODE_REL32),
    [0xeb] = X(I1),
    [0xec ... 0xef] = X(0),
    [0xf1] = F(0, ALL, 0),
    [0xf4] = X(0),
    [0xf5] = F(0, C, 0),
    [0xf6 ... 0xf7] = X(M),
    [0xf8 ... 0xf9] = F(0, 0, C),
    [0xfa ... 0xfd] = X(0),
    [0xfe ... 0xff] = X(M),
};

const struct opcode_row opcode_0f[256] = {
    [0x00 ... 0x03] = X(M),
    [0x05] = F(0, ALL, 0),
    [0x06 ... 0x09] = X(0),
    [0x0b] = X(0),
    [0x0d] = X(M),
    [0x0e] = X(0),
    [0x0f] = X(M | I1),
    [0x10 ... 0x23] = X(M),
    [0x28 ... 0x2d] = X(M),
    [0x2e ... 0x2f] = F(M, 0, ALL),
    [0x30 ... 0x35] = X(0),
    [0x37] = X(0),
    CONDITIONS(0x40, M),
    [0x50 ... 0x6f] = X(M),
    [0x70 ... 0x73] = X(M | I1),
    [0x74 ... 0x76] = X(M),
    [0x77] = X(0),
    [0x78 ... 0x79] = X(M),
    [0x7c ... 0x7f] = X(M),
    CONDITIONS(0x80, OPCODE_REL32),
    CONDITIONS(0x90, M),
    [0xa0 ... 0xa2] = X(0),
    [0xa3] = F(M, 0, C),
    [0xa4] = X(M | I1),
    [0xa5 ... 0xa7] = X(M),
    [0xa8 ... 0xa9] = X(0),
    [0xaa] = X(0),
    [0xab] = F(M, 0, C),
    [0xac] = X(M | I1),
    [0xad ... 0xae] = X(M),
    [0xaf] = F(M, 0, C | O),
    [0xb0 ... 0xb1] = F(M, 0, ALL),
    [0xb2] = X(M),
    [0xb3] = F(M, 0, C),
    [0xb4 ... 0xb9] = X(M),
    [0xba] = F(M | I1, 0, C),
    [0xbb] = F(M, 0, C),
    [0xbc ... 0xbd] = F(M, 0, Z),
    [0xbe ... 0xbf] = X(M),
    [0xc0 ... 0xc1] = F(M, 0, ALL),
    [0xc2] = X(M | I1),
    [0xc3] = X(M),
    [0xc4 ... 0xc6] = X(M | I1),
    [0xc7] = F(M, 0, 0),
    [0xc8 ... 0xcf] = X(0),
    [0xd0 ... 0xff] = X(M),
};

/*
 * compressed.c: a 16-bit instruction expanded to the 32-bit one it stands for.
 *
 * RV64C with D. Everything behind decoding sees one instruction set; only the length differs.
 * Reserved encodings expand to 0, which is illegal; hints expand to what they encode, which has
 * no effect because it writes x0.
 */
#include "engines/riscv/decode.h"

enum { SP = 2, RA = 1, ZERO = 0 };

/* Bits [high:low] of the instruction, moved to `to`. */
static uint32_t bits(uint32_t word, unsigned high, unsigned low, unsigned to)
{
    return (word >> low & ((2u << (high - low)) - 1)) << to;
}

static uint32_t sign_extend(uint32_t value, unsigned width)
{
    return (uint32_t)((int32_t)(value << (32 - width)) >> (32 - width));
}

static uint32_t encode_i(uint32_t base, uint32_t rd, uint32_t rs1, uint32_t immediate)
{
    return base | rd << 7 | rs1 << 15 | immediate << 20;
}

static uint32_t encode_s(uint32_t base, uint32_t rs1, uint32_t rs2, uint32_t immediate)
{
    return base | bits(immediate, 4, 0, 7) | rs1 << 15 | rs2 << 20 | bits(immediate, 11, 5, 25);
}

static uint32_t encode_r(uint32_t base, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
    return base | rd << 7 | rs1 << 15 | rs2 << 20;
}

static uint32_t encode_b(uint32_t base, uint32_t rs1, uint32_t immediate)
{
    return base | rs1 << 15 | bits(immediate, 11, 11, 7) | bits(immediate, 4, 1, 8) |
           bits(immediate, 10, 5, 25) | bits(immediate, 12, 12, 31);
}

static uint32_t encode_j(uint32_t rd, uint32_t immediate)
{
    return 0x6f | rd << 7 | bits(immediate, 19, 12, 12) | bits(immediate, 11, 11, 20) |
           bits(immediate, 10, 1, 21) | bits(immediate, 20, 20, 31);
}

/* The 32-bit opcodes, with their function bits. */
/* clang-format off */
enum {
    LW = 0x2003, LD = 0x3003, FLD = 0x3007, SW = 0x2023, SD = 0x3023, FSD = 0x3027,
    ADDI = 0x13, ADDIW = 0x1b, LUI = 0x37, SLLI = 0x1013, SRLI = 0x5013, SRAI = 0x40005013,
    ANDI = 0x7013, ADD = 0x33, SUB = 0x40000033, XOR = 0x4033, OR = 0x6033, AND = 0x7033,
    SUBW = 0x4000003b, ADDW = 0x3b, BEQ = 0x63, BNE = 0x1063, JALR = 0x67, EBREAK = 0x100073,
};
/* clang-format on */

static uint32_t register_low(uint32_t c)
{
    return 8 + bits(c, 4, 2, 0);
}

static uint32_t register_high(uint32_t c)
{
    return 8 + bits(c, 9, 7, 0);
}

static uint32_t immediate_6(uint32_t c)
{
    return sign_extend(bits(c, 12, 12, 5) | bits(c, 6, 2, 0), 6);
}

/* Quadrant 0: loads and stores through the popular registers. */
static uint32_t expand_quadrant_0(uint32_t c)
{
    uint32_t word_offset = bits(c, 5, 5, 6) | bits(c, 12, 10, 3) | bits(c, 6, 6, 2);
    uint32_t double_offset = bits(c, 6, 5, 6) | bits(c, 12, 10, 3);
    uint32_t stack_offset =
        bits(c, 10, 7, 6) | bits(c, 12, 11, 4) | bits(c, 5, 5, 3) | bits(c, 6, 6, 2);

    switch (c >> 13) {
    case 0:
        return stack_offset ? encode_i(ADDI, register_low(c), SP, stack_offset) : 0;
    case 1:
        return encode_i(FLD, register_low(c), register_high(c), double_offset);
    case 2:
        return encode_i(LW, register_low(c), register_high(c), word_offset);
    case 3:
        return encode_i(LD, register_low(c), register_high(c), double_offset);
    case 5:
        return encode_s(FSD, register_high(c), register_low(c), double_offset);
    case 6:
        return encode_s(SW, register_high(c), register_low(c), word_offset);
    case 7:
        return encode_s(SD, register_high(c), register_low(c), double_offset);
    default:
        return 0;
    }
}

static uint32_t expand_arithmetic(uint32_t c)
{
    static const uint32_t two_registers[8] = {SUB, XOR, OR, AND, SUBW, ADDW, 0, 0};
    uint32_t rd = register_high(c), amount = bits(c, 12, 12, 5) | bits(c, 6, 2, 0);

    switch (bits(c, 11, 10, 0)) {
    case 0:
        return encode_i(SRLI, rd, rd, amount);
    case 1:
        return encode_i(SRAI, rd, rd, amount);
    case 2:
        return encode_i(ANDI, rd, rd, immediate_6(c));
    default: {
        uint32_t base = two_registers[bits(c, 12, 12, 2) | bits(c, 6, 5, 0)];
        return base ? encode_r(base, rd, rd, register_low(c)) : 0;
    }
    }
}

static uint32_t expand_lui_or_addi16sp(uint32_t c)
{
    uint32_t rd = bits(c, 11, 7, 0);

    if (rd == SP) {
        uint32_t immediate = sign_extend(bits(c, 12, 12, 9) | bits(c, 4, 3, 7) | bits(c, 5, 5, 6) |
                                             bits(c, 2, 2, 5) | bits(c, 6, 6, 4),
                                         10);
        return immediate ? encode_i(ADDI, SP, SP, immediate) : 0;
    }
    uint32_t immediate = immediate_6(c);
    return immediate ? LUI | rd << 7 | immediate << 12 : 0;
}

/* Quadrant 1: immediates, arithmetic on the popular registers, jumps and branches. */
static uint32_t expand_quadrant_1(uint32_t c)
{
    uint32_t rd = bits(c, 11, 7, 0);
    uint32_t jump =
        sign_extend(bits(c, 12, 12, 11) | bits(c, 8, 8, 10) | bits(c, 10, 9, 8) | bits(c, 6, 6, 7) |
                        bits(c, 7, 7, 6) | bits(c, 2, 2, 5) | bits(c, 11, 11, 4) | bits(c, 5, 3, 1),
                    12);
    uint32_t branch = sign_extend(bits(c, 12, 12, 8) | bits(c, 6, 5, 6) | bits(c, 2, 2, 5) |
                                      bits(c, 11, 10, 3) | bits(c, 4, 3, 1),
                                  9);

    switch (c >> 13) {
    case 0:
        return encode_i(ADDI, rd, rd, immediate_6(c));
    case 1:
        return rd ? encode_i(ADDIW, rd, rd, immediate_6(c)) : 0;
    case 2:
        return encode_i(ADDI, rd, ZERO, immediate_6(c));
    case 3:
        return expand_lui_or_addi16sp(c);
    case 4:
        return expand_arithmetic(c);
    case 5:
        return encode_j(ZERO, jump);
    case 6:
        return encode_b(BEQ, register_high(c), branch);
    default:
        return encode_b(BNE, register_high(c), branch);
    }
}

static uint32_t expand_jump_or_move(uint32_t c)
{
    uint32_t rd = bits(c, 11, 7, 0), rs2 = bits(c, 6, 2, 0);
    bool links = bits(c, 12, 12, 0);

    if (rs2)
        return encode_r(ADD, rd, links ? rd : ZERO, rs2);
    if (rd)
        return encode_i(JALR, links ? RA : ZERO, rd, 0);
    return links ? EBREAK : 0;
}

/* Quadrant 2: the stack, jumps through registers. */
static uint32_t expand_quadrant_2(uint32_t c)
{
    uint32_t rd = bits(c, 11, 7, 0), rs2 = bits(c, 6, 2, 0);
    uint32_t load_word = bits(c, 3, 2, 6) | bits(c, 12, 12, 5) | bits(c, 6, 4, 2);
    uint32_t load_double = bits(c, 4, 2, 6) | bits(c, 12, 12, 5) | bits(c, 6, 5, 3);
    uint32_t store_word = bits(c, 8, 7, 6) | bits(c, 12, 9, 2);
    uint32_t store_double = bits(c, 9, 7, 6) | bits(c, 12, 10, 3);

    switch (c >> 13) {
    case 0:
        return encode_i(SLLI, rd, rd, bits(c, 12, 12, 5) | bits(c, 6, 2, 0));
    case 1:
        return encode_i(FLD, rd, SP, load_double);
    case 2:
        return rd ? encode_i(LW, rd, SP, load_word) : 0;
    case 3:
        return rd ? encode_i(LD, rd, SP, load_double) : 0;
    case 4:
        return expand_jump_or_move(c);
    case 5:
        return encode_s(FSD, SP, rs2, store_double);
    case 6:
        return encode_s(SW, SP, rs2, store_word);
    default:
        return encode_s(SD, SP, rs2, store_double);
    }
}

uint32_t riscv_expand(uint16_t compressed)
{
    switch (compressed & 3) {
    case 0:
        return expand_quadrant_0(compressed);
    case 1:
        return expand_quadrant_1(compressed);
    case 2:
        return expand_quadrant_2(compressed);
    default:
        return 0;
    }
}

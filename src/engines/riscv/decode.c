/*
 * decode.c: the table of instructions.h, searched by opcode.
 *
 * The table is grouped by the five opcode bits once, at the first use; a group has at most about
 * fifty entries, and each instruction of a program is decoded about once, so that a search beats
 * anything cleverer.
 */
#include "engines/riscv/decode.h"

#include <pthread.h>
#include <stddef.h>

enum format {
    FORMAT_R,
    FORMAT_I,
    FORMAT_S,
    FORMAT_B,
    FORMAT_U,
    FORMAT_J,
    FORMAT_H,
    FORMAT_C,
    FORMAT_F
};

struct encoding {
    const char *name;
    uint32_t match, mask;
    uint8_t format, kind;
};

static const struct encoding encodings[RISCV_OPERATION_COUNT] = {
    [RISCV_ILLEGAL] = {"illegal", 1, 0, FORMAT_R, RISCV_KIND_CONTROL},
#define ENCODE_PLAIN(name, format, match, mask, body)                                              \
    [RISCV_##name] = {#name, match, mask, FORMAT_##format, RISCV_KIND_PLAIN},
#define ENCODE_BRANCH(name, match, mask, condition)                                                \
    [RISCV_##name] = {#name, match, mask, FORMAT_B, RISCV_KIND_BRANCH},
#define ENCODE_CONTROL(name, format, match, mask)                                                  \
    [RISCV_##name] = {#name, match, mask, FORMAT_##format, RISCV_KIND_CONTROL},
    RISCV_INSTRUCTIONS(ENCODE_PLAIN, ENCODE_BRANCH, ENCODE_CONTROL)};

#define OPCODES 32

static uint16_t by_opcode[RISCV_OPERATION_COUNT]; /* operations, grouped by opcode */
static uint16_t first_of_opcode[OPCODES + 1];
static pthread_once_t grouped = PTHREAD_ONCE_INIT;

static unsigned opcode_of(uint32_t word)
{
    return word >> 2 & (OPCODES - 1);
}

static void group_by_opcode(void)
{
    uint16_t next = 0;

    for (unsigned opcode = 0; opcode < OPCODES; opcode++) {
        first_of_opcode[opcode] = next;
        for (uint16_t i = RISCV_ILLEGAL + 1; i < RISCV_OPERATION_COUNT; i++)
            if (opcode_of(encodings[i].match) == opcode)
                by_opcode[next++] = i;
    }
    first_of_opcode[OPCODES] = next;
}

static uint16_t find_operation(uint32_t word)
{
    pthread_once(&grouped, group_by_opcode);
    unsigned opcode = opcode_of(word);
    for (unsigned i = first_of_opcode[opcode]; i < first_of_opcode[opcode + 1]; i++)
        if ((word & encodings[by_opcode[i]].mask) == encodings[by_opcode[i]].match)
            return by_opcode[i];
    return RISCV_ILLEGAL;
}

/* Bits [high:low] of the word, moved to `to`. */
static uint32_t bits(uint32_t word, unsigned high, unsigned low, unsigned to)
{
    return (word >> low & ((2u << (high - low)) - 1)) << to;
}

static int32_t sign_extend(uint32_t value, unsigned width)
{
    return (int32_t)(value << (32 - width)) >> (32 - width);
}

static int32_t immediate_of(uint32_t word, enum format format)
{
    switch (format) {
    case FORMAT_I:
        return (int32_t)word >> 20;
    case FORMAT_S:
        return sign_extend(bits(word, 31, 25, 5) | bits(word, 11, 7, 0), 12);
    case FORMAT_B:
        return sign_extend(bits(word, 31, 31, 12) | bits(word, 7, 7, 11) | bits(word, 30, 25, 5) |
                               bits(word, 11, 8, 1),
                           13);
    case FORMAT_U:
        return (int32_t)(word & 0xfffff000);
    case FORMAT_J:
        return sign_extend(bits(word, 31, 31, 20) | bits(word, 19, 12, 12) |
                               bits(word, 20, 20, 11) | bits(word, 30, 21, 1),
                           21);
    case FORMAT_H:
        return (int32_t)bits(word, 25, 20, 0);
    case FORMAT_C:
        return (int32_t)bits(word, 31, 20, 0);
    default:
        return 0;
    }
}

struct riscv_instruction riscv_decode(uint32_t word)
{
    unsigned length = riscv_length((uint16_t)word);
    if (length == 2)
        word = riscv_expand((uint16_t)word);
    uint16_t operation = (word & 3) == 3 ? find_operation(word) : RISCV_ILLEGAL;
    const struct encoding *encoding = &encodings[operation];
    struct riscv_instruction instruction = {
        .operation = operation,
        .kind = encoding->kind,
        .length = (uint8_t)length,
        .rd = word >> 7 & 31,
        .rs1 = word >> 15 & 31,
        .rs2 = word >> 20 & 31,
        .rs3 = word >> 27 & 31,
        .rounding = word >> 12 & 7,
        .has_rounding = encoding->format == FORMAT_F,
        .immediate = immediate_of(word, encoding->format),
        .word = word,
    };
    /* 5 and 6 are reserved rounding modes. */
    if (instruction.has_rounding && (instruction.rounding == 5 || instruction.rounding == 6)) {
        instruction.operation = RISCV_ILLEGAL;
        instruction.kind = RISCV_KIND_CONTROL;
    }
    return instruction;
}

const char *riscv_operation_name(enum riscv_operation operation)
{
    return encodings[operation].name;
}

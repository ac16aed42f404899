/*
 * decode.h: from the bytes of an instruction to its name and operands. Knows no machine.
 */
#ifndef TRUEFLAME_RISCV_DECODE_H
#define TRUEFLAME_RISCV_DECODE_H

#include "engines/riscv/instructions.h"
#include <stdbool.h>
#include <stdint.h>

enum riscv_operation {
    RISCV_ILLEGAL,
#define NAME_PLAIN(name, format, match, mask, body) RISCV_##name,
#define NAME_BRANCH(name, match, mask, condition)   RISCV_##name,
#define NAME_CONTROL(name, format, match, mask)     RISCV_##name,
    RISCV_INSTRUCTIONS(NAME_PLAIN, NAME_BRANCH, NAME_CONTROL)
#undef NAME_PLAIN
#undef NAME_BRANCH
#undef NAME_CONTROL
        RISCV_OPERATION_COUNT,
};

enum riscv_kind { RISCV_KIND_PLAIN, RISCV_KIND_BRANCH, RISCV_KIND_CONTROL };

enum {
    ROUND_NEAREST_EVEN,
    ROUND_TO_ZERO,
    ROUND_DOWN,
    ROUND_UP,
    ROUND_NEAREST_AWAY,
    ROUND_DYNAMIC = 7
};

struct riscv_instruction {
    uint16_t operation; /* enum riscv_operation */
    uint8_t kind;       /* enum riscv_kind */
    uint8_t length;     /* 2 or 4 bytes */
    uint8_t rd, rs1, rs2, rs3;
    uint8_t rounding; /* ROUND_...; meaningful where has_rounding */
    bool has_rounding;
    int32_t immediate; /* sign-extended; a CSR's number for Zicsr, whose rs1 may be a constant */
    uint32_t word;     /* the instruction, expanded where it was compressed */
};

/* How many bytes the instruction that starts with `first` has: 2 or 4. */
static inline unsigned riscv_length(uint16_t first)
{
    return (first & 3) == 3 ? 4 : 2;
}

/* `word` holds the instruction's bytes; the upper half is ignored for a compressed one. What is
 * not an instruction gives RISCV_ILLEGAL, of kind CONTROL, with the right length. */
struct riscv_instruction riscv_decode(uint32_t word);

/* The 32-bit instruction that a compressed one stands for; 0, which is illegal, for none. */
uint32_t riscv_expand(uint16_t compressed);

const char *riscv_operation_name(enum riscv_operation operation);

#endif

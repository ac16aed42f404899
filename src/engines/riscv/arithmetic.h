/*
 * arithmetic.h: the integer operations that are more than a C operator: high halves of products,
 * and division as RISC-V has it, which never traps.
 */
#ifndef TRUEFLAME_RISCV_ARITHMETIC_H
#define TRUEFLAME_RISCV_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t integer_mulh(uint64_t a, uint64_t b)
{
    return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
}

static inline uint64_t integer_mulhsu(uint64_t a, uint64_t b)
{
    return (uint64_t)((__int128)(int64_t)a * (__int128)b >> 64);
}

static inline uint64_t integer_mulhu(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* Division by zero gives all ones and the dividend as remainder; the one overflow, the smallest
 * number by -1, gives the dividend and no remainder. */
static inline uint64_t integer_div(uint64_t a, uint64_t b)
{
    if (b == 0)
        return UINT64_MAX;
    if (b == UINT64_MAX)
        return -a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static inline uint64_t integer_divu(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

static inline uint64_t integer_rem(uint64_t a, uint64_t b)
{
    if (b == 0)
        return a;
    if (b == UINT64_MAX)
        return 0;
    return (uint64_t)((int64_t)a % (int64_t)b);
}

static inline uint64_t integer_remu(uint64_t a, uint64_t b)
{
    return b ? a % b : a;
}

static inline uint64_t integer_divw(uint64_t a, uint64_t b)
{
    /* 64-bit division of 32-bit operands cannot overflow; the result is cut to 32 bits. */
    if ((uint32_t)b == 0)
        return UINT64_MAX;
    return (uint64_t)(int64_t)(int32_t)((int64_t)(int32_t)a / (int32_t)b);
}

static inline uint64_t integer_divuw(uint64_t a, uint64_t b)
{
    if ((uint32_t)b == 0)
        return UINT64_MAX;
    return (uint64_t)(int64_t)(int32_t)((uint32_t)a / (uint32_t)b);
}

static inline uint64_t integer_remw(uint64_t a, uint64_t b)
{
    if ((uint32_t)b == 0)
        return (uint64_t)(int64_t)(int32_t)a;
    return (uint64_t)(int64_t)(int32_t)((int64_t)(int32_t)a % (int32_t)b);
}

static inline uint64_t integer_remuw(uint64_t a, uint64_t b)
{
    if ((uint32_t)b == 0)
        return (uint64_t)(int64_t)(int32_t)a;
    return (uint64_t)(int64_t)(int32_t)((uint32_t)a % (uint32_t)b);
}

#endif

/*
 * float.h: RISC-V floating point on an x86-64 host.
 *
 * Values are raw bits as the registers hold them: a single sits in the low half with ones above
 * (boxed); anything else in its place reads as the canonical NaN. While a guest runs, the host's
 * MXCSR *is* the guest's fcsr: its rounding mode is frm and its sticky flags are fflags, so that
 * add, mul and the rest cost what they cost natively. float_enter and float_leave move the state
 * in and out; nothing in between may use floating point for itself.
 *
 * What the host has no equal for is done in integers: minimum and maximum, classes, conversions to
 * integers with RISC-V's saturation. Rounding to nearest with ties away from zero, which SSE
 * lacks, is float_nearest_away's. Every NaN result is the canonical one. Both sides detect
 * tininess after rounding.
 */
#ifndef TRUEFLAME_RISCV_FLOAT_H
#define TRUEFLAME_RISCV_FLOAT_H

#include "engines/riscv/decode.h"
#include <stdbool.h>
#include <stdint.h>

#define FLOAT_BOX         0xffffffff00000000ull
#define FLOAT_CANONICAL_S 0x7fc00000u
#define FLOAT_CANONICAL_D 0x7ff8000000000000ull

enum {
    FLOAT_INEXACT = 1,
    FLOAT_UNDERFLOW = 2,
    FLOAT_OVERFLOW = 4,
    FLOAT_DIVIDE = 8,
    FLOAT_INVALID = 16
};

/* Whether the host can round as `frm` says. Others need float_nearest_away, or are illegal. */
static inline bool float_host_rounds(unsigned rounding)
{
    return rounding <= ROUND_UP;
}

/* Makes the host round and flag as fcsr says (frm in bits 7-5, fflags in 4-0); returns what the
 * host's control register was. float_leave undoes it and returns the flags as they now are. */
unsigned float_enter(unsigned fcsr);
unsigned float_leave(unsigned host);

/* Within enter and leave: the flags as they are now. */
unsigned float_flags(void);

/* Within enter and leave: the rounding mode of the host, set from a RISC-V one. */
void float_round(unsigned rounding);

/* Adds flags to those the host holds. */
void float_raise(unsigned flags);

/* Does a floating point instruction whose rounding mode is "nearest, ties away from zero".
 * Registers are the guest's; the instruction has a rounding mode field and is no conversion to an
 * integer. */
void float_nearest_away(const struct riscv_instruction *instruction, const uint64_t *x,
                        uint64_t *f);

/* The slow halves of the functions below. */
void float_flag_product(double a, double b);
uint64_t float_to_integer(uint64_t bits, bool is_double, unsigned rounding, unsigned width,
                          bool is_signed);

#define FLOAT_PUN(name, from, to)                                                                  \
    static inline to name(from value)                                                              \
    {                                                                                              \
        union {                                                                                    \
            from before;                                                                           \
            to after;                                                                              \
        } pun = {.before = value};                                                                 \
        return pun.after;                                                                          \
    }
FLOAT_PUN(float_value_of_bits, uint32_t, float)
FLOAT_PUN(float_bits_of_value, float, uint32_t)
FLOAT_PUN(float_get_d, uint64_t, double)
FLOAT_PUN(float_bits_of_double, double, uint64_t)

/* The compiler must not see the NaN: it would fold what is done with it, and lose the flags. */
static inline uint32_t float_unbox(uint64_t boxed)
{
    uint32_t bits = boxed >= FLOAT_BOX ? (uint32_t)boxed : FLOAT_CANONICAL_S;

    __asm__("" : "+r"(bits));
    return bits;
}

static inline float float_get_s(uint64_t boxed)
{
    return float_value_of_bits(float_unbox(boxed));
}

static inline uint64_t float_put_s(float value)
{
    return FLOAT_BOX | (value != value ? FLOAT_CANONICAL_S : float_bits_of_value(value));
}

static inline uint64_t float_put_d(double value)
{
    return value != value ? FLOAT_CANONICAL_D : float_bits_of_double(value);
}

#define FLOAT_ARITHMETIC(t, type, fma, square_root)                                                \
    static inline uint64_t float_add_##t(uint64_t a, uint64_t b)                                   \
    {                                                                                              \
        return float_put_##t(float_get_##t(a) + float_get_##t(b));                                 \
    }                                                                                              \
    static inline uint64_t float_sub_##t(uint64_t a, uint64_t b)                                   \
    {                                                                                              \
        return float_put_##t(float_get_##t(a) - float_get_##t(b));                                 \
    }                                                                                              \
    static inline uint64_t float_mul_##t(uint64_t a, uint64_t b)                                   \
    {                                                                                              \
        return float_put_##t(float_get_##t(a) * float_get_##t(b));                                 \
    }                                                                                              \
    static inline uint64_t float_div_##t(uint64_t a, uint64_t b)                                   \
    {                                                                                              \
        return float_put_##t(float_get_##t(a) / float_get_##t(b));                                 \
    }                                                                                              \
    static inline uint64_t float_sqrt_##t(uint64_t a)                                              \
    {                                                                                              \
        return float_put_##t(square_root(float_get_##t(a)));                                       \
    }                                                                                              \
    static inline uint64_t float_fused_##t(type a, type b, type c)                                 \
    {                                                                                              \
        type result = fma(a, b, c);                                                                \
        if (result != result)                                                                      \
            float_flag_product(a, b);                                                              \
        return float_put_##t(result);                                                              \
    }                                                                                              \
    static inline uint64_t float_madd_##t(uint64_t a, uint64_t b, uint64_t c)                      \
    {                                                                                              \
        return float_fused_##t(float_get_##t(a), float_get_##t(b), float_get_##t(c));              \
    }                                                                                              \
    static inline uint64_t float_msub_##t(uint64_t a, uint64_t b, uint64_t c)                      \
    {                                                                                              \
        return float_fused_##t(float_get_##t(a), float_get_##t(b), -float_get_##t(c));             \
    }                                                                                              \
    static inline uint64_t float_nmsub_##t(uint64_t a, uint64_t b, uint64_t c)                     \
    {                                                                                              \
        return float_fused_##t(-float_get_##t(a), float_get_##t(b), float_get_##t(c));             \
    }                                                                                              \
    static inline uint64_t float_nmadd_##t(uint64_t a, uint64_t b, uint64_t c)                     \
    {                                                                                              \
        return float_fused_##t(-float_get_##t(a), float_get_##t(b), -float_get_##t(c));            \
    }                                                                                              \
    /* <= and < are the signalling comparisons of the host, == is the quiet one. */                \
    static inline uint64_t float_le_##t(uint64_t a, uint64_t b)                                    \
    {                                                                                              \
        return float_get_##t(a) <= float_get_##t(b);                                               \
    }                                                                                              \
    static inline uint64_t float_lt_##t(uint64_t a, uint64_t b)                                    \
    {                                                                                              \
        return float_get_##t(a) < float_get_##t(b);                                                \
    }                                                                                              \
    static inline uint64_t float_eq_##t(uint64_t a, uint64_t b)                                    \
    {                                                                                              \
        return float_get_##t(a) == float_get_##t(b);                                               \
    }                                                                                              \
    uint64_t float_min_##t(uint64_t a, uint64_t b);                                                \
    uint64_t float_max_##t(uint64_t a, uint64_t b);                                                \
    uint64_t float_class_##t(uint64_t a);                                                          \
    static inline uint64_t float_from_l_##t(uint64_t a)                                            \
    {                                                                                              \
        return float_put_##t((type)(int64_t)a);                                                    \
    }                                                                                              \
    static inline uint64_t float_from_lu_##t(uint64_t a)                                           \
    {                                                                                              \
        return float_put_##t((type)a);                                                             \
    }

FLOAT_ARITHMETIC(s, float, __builtin_fmaf, __builtin_sqrtf)
FLOAT_ARITHMETIC(d, double, __builtin_fma, __builtin_sqrt)

/* Truncation within range is the host's own conversion, flags included. */
#define FLOAT_TO_INTEGER(t, is_double, letters, type, width, is_signed, low, high)                 \
    static inline uint64_t float_to_##letters##_##t(uint64_t a, unsigned rounding)                 \
    {                                                                                              \
        double value = float_get_##t(a);                                                           \
        if (rounding == ROUND_TO_ZERO && value > low && value < high)                              \
            return (uint64_t)(int64_t)(type)value;                                                 \
        return float_to_integer(a, is_double, rounding, width, is_signed);                         \
    }
FLOAT_TO_INTEGER(s, false, w, int32_t, 32, true, -0x1p31, 0x1p31)
FLOAT_TO_INTEGER(d, true, w, int32_t, 32, true, -0x1p31, 0x1p31)
FLOAT_TO_INTEGER(s, false, l, int64_t, 64, true, -0x1p63, 0x1p63)
FLOAT_TO_INTEGER(d, true, l, int64_t, 64, true, -0x1p63, 0x1p63)
FLOAT_TO_INTEGER(s, false, lu, int64_t, 64, false, -1, 0x1p63)
FLOAT_TO_INTEGER(d, true, lu, int64_t, 64, false, -1, 0x1p63)

static inline uint64_t float_to_wu_s(uint64_t a, unsigned rounding)
{
    return float_to_integer(a, false, rounding, 32, false);
}

static inline uint64_t float_to_wu_d(uint64_t a, unsigned rounding)
{
    return float_to_integer(a, true, rounding, 32, false);
}

static inline uint64_t float_s_from_d(uint64_t a)
{
    return float_put_s((float)float_get_d(a));
}

static inline uint64_t float_d_from_s(uint64_t a)
{
    return float_put_d((double)float_get_s(a));
}

#define FLOAT_SIGN_S 0x80000000u
#define FLOAT_SIGN_D 0x8000000000000000ull

static inline uint64_t float_sgnj_s(uint64_t a, uint64_t b)
{
    uint32_t from = float_unbox(a), sign = float_unbox(b);
    return FLOAT_BOX | (from & ~FLOAT_SIGN_S) | (sign & FLOAT_SIGN_S);
}

static inline uint64_t float_sgnjn_s(uint64_t a, uint64_t b)
{
    uint32_t from = float_unbox(a), sign = float_unbox(b);
    return FLOAT_BOX | (from & ~FLOAT_SIGN_S) | (~sign & FLOAT_SIGN_S);
}

static inline uint64_t float_sgnjx_s(uint64_t a, uint64_t b)
{
    return FLOAT_BOX | (float_unbox(a) ^ (float_unbox(b) & FLOAT_SIGN_S));
}

static inline uint64_t float_sgnj_d(uint64_t a, uint64_t b)
{
    return (a & ~FLOAT_SIGN_D) | (b & FLOAT_SIGN_D);
}

static inline uint64_t float_sgnjn_d(uint64_t a, uint64_t b)
{
    return (a & ~FLOAT_SIGN_D) | (~b & FLOAT_SIGN_D);
}

static inline uint64_t float_sgnjx_d(uint64_t a, uint64_t b)
{
    return a ^ (b & FLOAT_SIGN_D);
}

#endif

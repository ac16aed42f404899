/*
 * float.c: the floating point that the host does not do for us (see float.h).
 */
#include "engines/riscv/float.h"

#include <xmmintrin.h>

enum {
    MXCSR_INVALID = 0x01,
    MXCSR_DIVIDE = 0x04,
    MXCSR_OVERFLOW = 0x08,
    MXCSR_UNDERFLOW = 0x10,
    MXCSR_INEXACT = 0x20,
    MXCSR_FLAGS = 0x3f,
    MXCSR_MASKS = 0x1f80,
    MXCSR_ROUNDING = 0x6000,
    MXCSR_ROUNDING_SHIFT = 13,
};

/* RISC-V and the host number the rounding modes differently. */
static const uint8_t host_rounding[4] = {
    [ROUND_NEAREST_EVEN] = 0, [ROUND_TO_ZERO] = 3, [ROUND_DOWN] = 1, [ROUND_UP] = 2};
static const uint8_t guest_rounding[4] = {ROUND_NEAREST_EVEN, ROUND_DOWN, ROUND_UP, ROUND_TO_ZERO};

static unsigned host_flags_of(unsigned flags)
{
    return (flags & FLOAT_INEXACT ? MXCSR_INEXACT : 0) |
           (flags & FLOAT_UNDERFLOW ? MXCSR_UNDERFLOW : 0) |
           (flags & FLOAT_OVERFLOW ? MXCSR_OVERFLOW : 0) |
           (flags & FLOAT_DIVIDE ? MXCSR_DIVIDE : 0) | (flags & FLOAT_INVALID ? MXCSR_INVALID : 0);
}

static unsigned guest_flags_of(unsigned host)
{
    return (host & MXCSR_INEXACT ? FLOAT_INEXACT : 0) |
           (host & MXCSR_UNDERFLOW ? FLOAT_UNDERFLOW : 0) |
           (host & MXCSR_OVERFLOW ? FLOAT_OVERFLOW : 0) | (host & MXCSR_DIVIDE ? FLOAT_DIVIDE : 0) |
           (host & MXCSR_INVALID ? FLOAT_INVALID : 0);
}

unsigned float_enter(unsigned fcsr)
{
    unsigned host = _mm_getcsr(), rounding = fcsr >> 5 & 7;

    if (!float_host_rounds(rounding))
        rounding = ROUND_NEAREST_EVEN;
    _mm_setcsr(MXCSR_MASKS | host_flags_of(fcsr) |
               (unsigned)host_rounding[rounding] << MXCSR_ROUNDING_SHIFT);
    return host;
}

unsigned float_leave(unsigned host)
{
    unsigned flags = guest_flags_of(_mm_getcsr());

    _mm_setcsr(host);
    return flags;
}

unsigned float_flags(void)
{
    return guest_flags_of(_mm_getcsr());
}

void float_round(unsigned rounding)
{
    _mm_setcsr((_mm_getcsr() & ~(unsigned)MXCSR_ROUNDING) | (unsigned)host_rounding[rounding & 3]
                                                                << MXCSR_ROUNDING_SHIFT);
}

void float_raise(unsigned flags)
{
    _mm_setcsr(_mm_getcsr() | host_flags_of(flags));
}

/* A product of infinity and zero is invalid even when the addend is a quiet NaN. The operands are
 * tested in integers, so that the test itself raises nothing. */
void float_flag_product(double a, double b)
{
    uint64_t magnitude_a = float_bits_of_double(a) << 1, magnitude_b = float_bits_of_double(b) << 1;
    const uint64_t infinity = 0x7ffull << 53;

    if ((magnitude_a == infinity && magnitude_b == 0) ||
        (magnitude_b == infinity && magnitude_a == 0))
        float_raise(FLOAT_INVALID);
}

/* One shape for both types, so that each rule is written once. */
struct shape {
    unsigned fraction_bits, exponent_bits;
    uint64_t canonical;
};

static const struct shape single_shape = {23, 8, FLOAT_CANONICAL_S};
static const struct shape double_shape = {52, 11, FLOAT_CANONICAL_D};

static uint64_t fraction_of(uint64_t bits, const struct shape *shape)
{
    return bits & ((1ull << shape->fraction_bits) - 1);
}

static unsigned exponent_of(uint64_t bits, const struct shape *shape)
{
    return bits >> shape->fraction_bits & ((1u << shape->exponent_bits) - 1);
}

static bool sign_of(uint64_t bits, const struct shape *shape)
{
    return bits >> (shape->fraction_bits + shape->exponent_bits) & 1;
}

static unsigned exponent_limit(const struct shape *shape)
{
    return (1u << shape->exponent_bits) - 1;
}

static bool is_nan(uint64_t bits, const struct shape *shape)
{
    return exponent_of(bits, shape) == exponent_limit(shape) && fraction_of(bits, shape);
}

static bool is_signalling(uint64_t bits, const struct shape *shape)
{
    return is_nan(bits, shape) && !(bits >> (shape->fraction_bits - 1) & 1);
}

/* Whether a < b for numbers, with -0 below +0. */
static bool is_below(uint64_t a, uint64_t b, const struct shape *shape)
{
    bool sign_a = sign_of(a, shape), sign_b = sign_of(b, shape);

    if (sign_a != sign_b)
        return sign_a;
    return sign_a ? a > b : a < b;
}

static uint64_t select_extreme(uint64_t a, uint64_t b, bool smaller, const struct shape *shape)
{
    if (is_signalling(a, shape) || is_signalling(b, shape))
        float_raise(FLOAT_INVALID);
    if (is_nan(a, shape))
        return is_nan(b, shape) ? shape->canonical : b;
    if (is_nan(b, shape))
        return a;
    return is_below(a, b, shape) == smaller ? a : b;
}

uint64_t float_min_s(uint64_t a, uint64_t b)
{
    return FLOAT_BOX | select_extreme(float_unbox(a), float_unbox(b), true, &single_shape);
}

uint64_t float_max_s(uint64_t a, uint64_t b)
{
    return FLOAT_BOX | select_extreme(float_unbox(a), float_unbox(b), false, &single_shape);
}

uint64_t float_min_d(uint64_t a, uint64_t b)
{
    return select_extreme(a, b, true, &double_shape);
}

uint64_t float_max_d(uint64_t a, uint64_t b)
{
    return select_extreme(a, b, false, &double_shape);
}

/* The bit that says what a value is: -inf, -normal, -subnormal, -0, +0, ..., +inf, signalling NaN,
 * quiet NaN. */
static uint64_t class_of(uint64_t bits, const struct shape *shape)
{
    enum { INFINITE, NORMAL, SUBNORMAL, ZERO, SIGNALLING = 8, QUIET = 9 };
    unsigned kind;

    if (is_nan(bits, shape))
        return 1u << (is_signalling(bits, shape) ? SIGNALLING : QUIET);
    if (exponent_of(bits, shape) == exponent_limit(shape))
        kind = INFINITE;
    else if (exponent_of(bits, shape))
        kind = NORMAL;
    else
        kind = fraction_of(bits, shape) ? SUBNORMAL : ZERO;
    return 1u << (sign_of(bits, shape) ? kind : 7 - kind);
}

uint64_t float_class_s(uint64_t a)
{
    return class_of(float_unbox(a), &single_shape);
}

uint64_t float_class_d(uint64_t a)
{
    return class_of(a, &double_shape);
}

/* A magnitude cut at the binary point: the integer, and what was cut off in two bits: half, and
 * whether anything below it was set. */
struct rounded {
    uint64_t integer;
    bool half, rest;
    bool too_large; /* 2^64 or more */
};

static struct rounded split_at_point(uint64_t bits, const struct shape *shape)
{
    int bias = (int)exponent_limit(shape) / 2, exponent = (int)exponent_of(bits, shape);
    uint64_t significand = fraction_of(bits, shape);

    if (exponent)
        significand |= 1ull << shape->fraction_bits;
    else
        exponent = 1;
    int shift = exponent - bias - (int)shape->fraction_bits;
    if (shift >= 0) {
        bool too_large = significand && shift + (int)shape->fraction_bits >= 64;
        return (struct rounded){.integer = too_large ? 0 : significand << (shift & 63),
                                .too_large = too_large};
    }
    int cut = -shift;
    if (cut > 63)
        return (struct rounded){.rest = significand != 0};
    return (struct rounded){
        .integer = significand >> cut,
        .half = significand >> (cut - 1) & 1,
        .rest = (significand & ((1ull << (cut - 1)) - 1)) != 0,
    };
}

static bool rounds_up(const struct rounded *value, bool negative, unsigned rounding)
{
    switch (rounding) {
    case ROUND_NEAREST_EVEN:
        return value->half && (value->rest || (value->integer & 1));
    case ROUND_DOWN:
        return negative && (value->half || value->rest);
    case ROUND_UP:
        return !negative && (value->half || value->rest);
    case ROUND_NEAREST_AWAY:
        return value->half;
    default:
        return false;
    }
}

/* Results narrower than the register are sign-extended, unsigned ones too. */
static uint64_t widen(uint64_t value, unsigned width)
{
    return width == 32 ? (uint64_t)(int64_t)(int32_t)value : value;
}

static uint64_t saturate(bool negative, unsigned width, bool is_signed)
{
    float_raise(FLOAT_INVALID);
    uint64_t lowest = is_signed ? 1ull << (width - 1) : 0;
    return widen(negative ? lowest : lowest - 1, width);
}

uint64_t float_to_integer(uint64_t bits, bool is_double, unsigned rounding, unsigned width,
                          bool is_signed)
{
    const struct shape *shape = is_double ? &double_shape : &single_shape;
    if (!is_double)
        bits = float_unbox(bits);
    if (rounding == ROUND_DYNAMIC)
        rounding = guest_rounding[(_mm_getcsr() & MXCSR_ROUNDING) >> MXCSR_ROUNDING_SHIFT];

    bool negative = sign_of(bits, shape) && !is_nan(bits, shape);
    if (exponent_of(bits, shape) == exponent_limit(shape))
        return saturate(negative, width, is_signed);
    struct rounded value = split_at_point(bits, shape);
    bool inexact = value.half || value.rest;
    uint64_t magnitude = value.integer + rounds_up(&value, negative, rounding);
    uint64_t largest = is_signed     ? (1ull << (width - 1)) - !negative
                       : negative    ? 0
                       : width == 64 ? UINT64_MAX
                                     : (1ull << width) - 1;
    if (value.too_large || magnitude > largest)
        return saturate(negative, width, is_signed);
    if (inexact)
        float_raise(FLOAT_INEXACT);
    return widen(negative ? -magnitude : magnitude, width);
}

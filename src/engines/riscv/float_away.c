/*
 * float_away.c: rounding to nearest with ties away from zero, which SSE does not have.
 *
 * It differs from ties-to-even only on exact ties that even rounding sent towards zero. So the
 * host computes with ties to even, then the exact result is computed again in 113 bits: if that
 * was exact and lies in the middle between the host's result and its neighbour away from zero, the
 * neighbour is the answer. Flags are the same in both modes. Slow, and rarely asked for.
 */
#include "engines/riscv/float.h"

#include <math.h>
#include <xmmintrin.h>

enum { CSR_FLAGS = 0x3f, CSR_INEXACT = 0x20, CSR_TO_ZERO = 0x6000 };

/* What an instruction computes, with operands widened without loss. */
struct exact {
    __float128 value;
    bool known; /* the 113 bits hold the result entirely */
};

static struct exact compute_exactly(const struct riscv_instruction *instruction, __float128 a,
                                    __float128 b, __float128 c)
{
    unsigned saved = _mm_getcsr();
    struct exact exact = {0};
    /* volatile: the computation must stay between the two control register accesses. */
    volatile __float128 result, first = a, second = b, third = c;

    _mm_setcsr((saved & ~(unsigned)CSR_FLAGS) | CSR_TO_ZERO);
    switch (instruction->operation) {
    case RISCV_fadd_s:
    case RISCV_fadd_d:
        result = first + second;
        break;
    case RISCV_fsub_s:
    case RISCV_fsub_d:
        result = first - second;
        break;
    case RISCV_fmul_s:
    case RISCV_fmul_d:
        result = first * second;
        break;
    case RISCV_fdiv_s:
    case RISCV_fdiv_d:
        result = first / second;
        break;
    case RISCV_fmadd_s:
    case RISCV_fmadd_d:
        result = first * second + third;
        break;
    case RISCV_fmsub_s:
    case RISCV_fmsub_d:
        result = first * second - third;
        break;
    case RISCV_fnmsub_s:
    case RISCV_fnmsub_d:
        result = third - first * second;
        break;
    case RISCV_fnmadd_s:
    case RISCV_fnmadd_d:
        result = -(first * second) - third;
        break;
    default: /* conversions; a square root is never a tie */
        result = first;
        break;
    }
    exact.known = !(_mm_getcsr() & CSR_INEXACT);
    exact.value = result;
    _mm_setcsr(saved);
    return exact;
}

/* Whether `exact` lies exactly between `even` and `away`, its neighbour further from zero. */
static bool is_tie(const struct exact *exact, __float128 even, __float128 away)
{
    unsigned saved = _mm_getcsr();
    bool tie = exact->known && exact->value - even == away - exact->value && exact->value != even;

    _mm_setcsr(saved);
    return tie;
}

static uint64_t correct_s(uint64_t even_bits, const struct exact *exact)
{
    float even = float_get_s(even_bits);
    if (!isfinite(even))
        return even_bits;
    unsigned saved = _mm_getcsr();
    float away = nextafterf(even, exact->value < 0 ? -INFINITY : INFINITY);
    _mm_setcsr(saved);
    return isfinite(away) && is_tie(exact, even, away) ? float_put_s(away) : even_bits;
}

static uint64_t correct_d(uint64_t even_bits, const struct exact *exact)
{
    double even = float_get_d(even_bits);
    if (!isfinite(even))
        return even_bits;
    unsigned saved = _mm_getcsr();
    double away = nextafter(even, exact->value < 0 ? -INFINITY : INFINITY);
    _mm_setcsr(saved);
    return isfinite(away) && is_tie(exact, even, away) ? float_put_d(away) : even_bits;
}

/* The instruction with ties to even, by the table that everything else uses. */
static uint64_t compute_even(const struct riscv_instruction *instruction, const uint64_t *x,
                             const uint64_t *f)
{
#define FD  result
#define FS1 f[instruction->rs1]
#define FS2 f[instruction->rs2]
#define FS3 f[instruction->rs3]
#define RS1 x[instruction->rs1]
    uint64_t result = 0;
    switch (instruction->operation) {
    case RISCV_fcvt_s_w:
        FD = float_from_l_s(SIGN_EXTEND_32(RS1));
        break;
    case RISCV_fcvt_s_wu:
        FD = float_from_lu_s((uint32_t)RS1);
        break;
    case RISCV_fcvt_d_w:
        FD = float_from_l_d(SIGN_EXTEND_32(RS1));
        break;
    case RISCV_fcvt_d_wu:
        FD = float_from_lu_d((uint32_t)RS1);
        break;
    case RISCV_fcvt_s_d:
        FD = float_s_from_d(FS1);
        break;
    case RISCV_fcvt_d_s:
        FD = float_d_from_s(FS1);
        break;
#define BOTH_TYPES(t)                                                                              \
    case RISCV_fmadd_##t:                                                                          \
        FD = float_madd_##t(FS1, FS2, FS3);                                                        \
        break;                                                                                     \
    case RISCV_fmsub_##t:                                                                          \
        FD = float_msub_##t(FS1, FS2, FS3);                                                        \
        break;                                                                                     \
    case RISCV_fnmsub_##t:                                                                         \
        FD = float_nmsub_##t(FS1, FS2, FS3);                                                       \
        break;                                                                                     \
    case RISCV_fnmadd_##t:                                                                         \
        FD = float_nmadd_##t(FS1, FS2, FS3);                                                       \
        break;                                                                                     \
    case RISCV_fadd_##t:                                                                           \
        FD = float_add_##t(FS1, FS2);                                                              \
        break;                                                                                     \
    case RISCV_fsub_##t:                                                                           \
        FD = float_sub_##t(FS1, FS2);                                                              \
        break;                                                                                     \
    case RISCV_fmul_##t:                                                                           \
        FD = float_mul_##t(FS1, FS2);                                                              \
        break;                                                                                     \
    case RISCV_fdiv_##t:                                                                           \
        FD = float_div_##t(FS1, FS2);                                                              \
        break;                                                                                     \
    case RISCV_fsqrt_##t:                                                                          \
        FD = float_sqrt_##t(FS1);                                                                  \
        break;                                                                                     \
    case RISCV_fcvt_##t##_l:                                                                       \
        FD = float_from_l_##t(RS1);                                                                \
        break;                                                                                     \
    case RISCV_fcvt_##t##_lu:                                                                      \
        FD = float_from_lu_##t(RS1);                                                               \
        break;
        BOTH_TYPES(s)
        BOTH_TYPES(d)
    }
    return result;
#undef FD
#undef FS1
#undef FS2
#undef FS3
#undef RS1
}

static bool reads_single(uint16_t operation)
{
    switch (operation) {
    case RISCV_fmadd_s:
    case RISCV_fmsub_s:
    case RISCV_fnmsub_s:
    case RISCV_fnmadd_s:
    case RISCV_fadd_s:
    case RISCV_fsub_s:
    case RISCV_fmul_s:
    case RISCV_fdiv_s:
    case RISCV_fsqrt_s:
    case RISCV_fcvt_d_s:
        return true;
    default:
        return false;
    }
}

static __float128 widen_operand(uint64_t bits, bool single)
{
    unsigned saved = _mm_getcsr();
    __float128 value = single ? (__float128)float_get_s(bits) : (__float128)float_get_d(bits);

    _mm_setcsr(saved);
    return value;
}

void float_nearest_away(const struct riscv_instruction *instruction, const uint64_t *x, uint64_t *f)
{
    unsigned saved = _mm_getcsr();
    _mm_setcsr(saved & ~(unsigned)CSR_TO_ZERO);
    volatile uint64_t even = compute_even(instruction, x, f);
    unsigned flags = _mm_getcsr() & CSR_FLAGS;
    _mm_setcsr(saved | flags);

    bool single = reads_single(instruction->operation);
    __float128 first = widen_operand(f[instruction->rs1], single);
    bool writes_single;
    switch (instruction->operation) {
    case RISCV_fsqrt_s:
    case RISCV_fsqrt_d:
    case RISCV_fcvt_d_s:
    case RISCV_fcvt_d_w:
    case RISCV_fcvt_d_wu:
        f[instruction->rd] = even;
        return;
    case RISCV_fcvt_s_w:
        first = (int32_t)x[instruction->rs1];
        writes_single = true;
        break;
    case RISCV_fcvt_s_wu:
        first = (uint32_t)x[instruction->rs1];
        writes_single = true;
        break;
    case RISCV_fcvt_s_l:
    case RISCV_fcvt_d_l:
        first = (int64_t)x[instruction->rs1];
        writes_single = instruction->operation == RISCV_fcvt_s_l;
        break;
    case RISCV_fcvt_s_lu:
    case RISCV_fcvt_d_lu:
        first = x[instruction->rs1];
        writes_single = instruction->operation == RISCV_fcvt_s_lu;
        break;
    default:
        writes_single = single || instruction->operation == RISCV_fcvt_s_d;
        break;
    }
    struct exact exact =
        compute_exactly(instruction, first, widen_operand(f[instruction->rs2], single),
                        widen_operand(f[instruction->rs3], single));
    f[instruction->rd] = writes_single ? correct_s(even, &exact) : correct_d(even, &exact);
}

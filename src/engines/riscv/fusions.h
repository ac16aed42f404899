/*
 * fusions.h: pairs of instructions that one operation does.
 *
 * The second instruction of each takes its first operand from the first one's result, so that the
 * value need not go through the register file, which lives in memory: a load that waits for a store
 * costs more than what most instructions do. Registers are written all the same. The list was
 * chosen by how often pairs occur in compiled integer code.
 *
 *   PAIR(first, second)           both straight-line
 *   PAIR_BRANCH(first, second)    the second one ends the block
 *
 * Names are those of enum micro without the prefix. A fused operation keeps the second one's place
 * in the block: it holds its operands, and a fault in the second knows where it is.
 */
#ifndef TRUEFLAME_RISCV_FUSIONS_H
#define TRUEFLAME_RISCV_FUSIONS_H

/* clang-format off */
#define RISCV_FUSIONS(PAIR, PAIR_BRANCH)                                                           \
    PAIR(slli, srli) PAIR(slli, srai) PAIR(slli, add) PAIR(srli, add) PAIR(srli, andi)             \
    PAIR(srli, xor) PAIR(srliw, xor) PAIR(sraiw, andi) PAIR(xor, srli) PAIR(xor, andi)             \
    PAIR(xor, addiw) PAIR(andi, xor) PAIR(andi, add) PAIR(andi, slli) PAIR(addiw, srli)            \
    PAIR(addiw, andi) PAIR(addiw, slli) PAIR(addiw, addw) PAIR(addw, addiw) PAIR(addw, mulw)       \
    PAIR(mulw, addw) PAIR(mulw, sraiw) PAIR(mul, add) PAIR(subw, addw) PAIR(or, slli)              \
    PAIR(add, lb) PAIR(add, lbu) PAIR(add, lh) PAIR(add, lhu) PAIR(add, lw) PAIR(add, ld)          \
    PAIR(add, addi) PAIR(add, add) PAIR(add, srli) PAIR(add, slli) PAIR(lbu, addiw) PAIR(lh, addiw)\
    PAIR(lw, addiw) PAIR(lw, slli) PAIR(lbu, slli) PAIR(ld, lh) PAIR(ld, lbu) PAIR(ld, ld)         \
    PAIR_BRANCH(ld, beqz) PAIR_BRANCH(ld, bnez) PAIR_BRANCH(lw, beqz) PAIR_BRANCH(lw, bnez)        \
    PAIR_BRANCH(lbu, beqz) PAIR_BRANCH(lbu, bnez) PAIR_BRANCH(lbu, beq) PAIR_BRANCH(lbu, bne)      \
    PAIR_BRANCH(lh, bne) PAIR_BRANCH(lh, bge) PAIR_BRANCH(lw, bne) PAIR_BRANCH(ld, bne)            \
    PAIR_BRANCH(addi, bne) PAIR_BRANCH(addi, beqz) PAIR_BRANCH(addi, bnez)                         \
    PAIR_BRANCH(addiw, bne) PAIR_BRANCH(addiw, bnez) PAIR_BRANCH(addiw, blt)                       \
    PAIR_BRANCH(addw, bne) PAIR_BRANCH(add, bne) PAIR_BRANCH(sub, bnez)                            \
    PAIR_BRANCH(andi, beqz) PAIR_BRANCH(andi, bnez) PAIR_BRANCH(andi, bltu)                        \
    PAIR_BRANCH(srli, beqz) PAIR_BRANCH(srli, bnez) PAIR_BRANCH(xor, bnez)                         \
    PAIR_BRANCH(move, bnez) PAIR_BRANCH(move, beqz)                                                \
    PAIR_BRANCH(load_constant, beq) PAIR_BRANCH(load_constant, bne)                                \
    PAIR_BRANCH(load_constant, bgeu) PAIR_BRANCH(load_constant, bge)
/* clang-format on */

#endif

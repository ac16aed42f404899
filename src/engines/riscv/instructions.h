/*
 * instructions.h: every instruction of the machine, once: how it is encoded and what it does.
 *
 * RV64IMAFDC with Zicsr and Zifencei, user level. Compressed instructions are not here: decode.c
 * expands each to the 32-bit one it stands for.
 *
 *   PLAIN(name, format, match, mask, body)   straight-line; `body` is the whole effect
 *   BRANCH(name, match, mask, condition)     conditional jump; format B
 *   CONTROL(name, format, match, mask)       ends a block; its effect needs more than registers
 *                                            and memory, and stands with its user (dispatch)
 *
 * A word is instruction `name` when (word & mask) == match. Bodies are written in these words,
 * which each user of the table defines for itself:
 *
 *   RD RS1 RS2         64-bit integer registers; a write to x0 must vanish
 *   FD FS1 FS2 FS3     64-bit floating point registers, raw bits
 *   IMM                the sign-extended immediate
 *   PC                 the address of this instruction
 *   RM                 the rounding mode field, 0-4 or 7 for "as frm says"
 *   LOAD(type, address)   STORE(type, address, value)   fault with this instruction's address
 *   ATOMIC(type, address, expression of `old` and `value`)   the new value; yields the old one
 *   LOAD_RESERVED(type, address)   STORE_CONDITIONAL(type, address, value)   yields 0 or 1
 *
 * Floating point goes through the functions of float.h.
 */
#ifndef TRUEFLAME_RISCV_INSTRUCTIONS_H
#define TRUEFLAME_RISCV_INSTRUCTIONS_H

#define SIGN_EXTEND_32(value) ((uint64_t)(int64_t)(int32_t)(value))

/* clang-format off */
#define RISCV_INSTRUCTIONS_I(PLAIN, BRANCH, CONTROL)                                               \
    PLAIN(lui,    U, 0x00000037, 0x0000007f, RD = (uint64_t)(int64_t)IMM)                          \
    PLAIN(auipc,  U, 0x00000017, 0x0000007f, RD = PC + (uint64_t)(int64_t)IMM)                     \
    CONTROL(jal,  J, 0x0000006f, 0x0000007f)                                                       \
    CONTROL(jalr, I, 0x00000067, 0x0000707f)                                                       \
    BRANCH(beq,  0x00000063, 0x0000707f, RS1 == RS2)                                               \
    BRANCH(bne,  0x00001063, 0x0000707f, RS1 != RS2)                                               \
    BRANCH(blt,  0x00004063, 0x0000707f, (int64_t)RS1 < (int64_t)RS2)                              \
    BRANCH(bge,  0x00005063, 0x0000707f, (int64_t)RS1 >= (int64_t)RS2)                             \
    BRANCH(bltu, 0x00006063, 0x0000707f, RS1 < RS2)                                                \
    BRANCH(bgeu, 0x00007063, 0x0000707f, RS1 >= RS2)                                               \
    PLAIN(lb,  I, 0x00000003, 0x0000707f, RD = (uint64_t)(int64_t)LOAD(int8_t, RS1 + IMM))         \
    PLAIN(lh,  I, 0x00001003, 0x0000707f, RD = (uint64_t)(int64_t)LOAD(int16_t, RS1 + IMM))        \
    PLAIN(lw,  I, 0x00002003, 0x0000707f, RD = (uint64_t)(int64_t)LOAD(int32_t, RS1 + IMM))        \
    PLAIN(ld,  I, 0x00003003, 0x0000707f, RD = LOAD(uint64_t, RS1 + IMM))                          \
    PLAIN(lbu, I, 0x00004003, 0x0000707f, RD = LOAD(uint8_t, RS1 + IMM))                           \
    PLAIN(lhu, I, 0x00005003, 0x0000707f, RD = LOAD(uint16_t, RS1 + IMM))                          \
    PLAIN(lwu, I, 0x00006003, 0x0000707f, RD = LOAD(uint32_t, RS1 + IMM))                          \
    PLAIN(sb,  S, 0x00000023, 0x0000707f, STORE(uint8_t, RS1 + IMM, RS2))                          \
    PLAIN(sh,  S, 0x00001023, 0x0000707f, STORE(uint16_t, RS1 + IMM, RS2))                         \
    PLAIN(sw,  S, 0x00002023, 0x0000707f, STORE(uint32_t, RS1 + IMM, RS2))                         \
    PLAIN(sd,  S, 0x00003023, 0x0000707f, STORE(uint64_t, RS1 + IMM, RS2))                         \
    PLAIN(addi,  I, 0x00000013, 0x0000707f, RD = RS1 + IMM)                                        \
    PLAIN(slti,  I, 0x00002013, 0x0000707f, RD = (int64_t)RS1 < (int64_t)IMM)                      \
    PLAIN(sltiu, I, 0x00003013, 0x0000707f, RD = RS1 < (uint64_t)(int64_t)IMM)                     \
    PLAIN(xori,  I, 0x00004013, 0x0000707f, RD = RS1 ^ (uint64_t)(int64_t)IMM)                     \
    PLAIN(ori,   I, 0x00006013, 0x0000707f, RD = RS1 | (uint64_t)(int64_t)IMM)                     \
    PLAIN(andi,  I, 0x00007013, 0x0000707f, RD = RS1 & (uint64_t)(int64_t)IMM)                     \
    PLAIN(slli,  H, 0x00001013, 0xfc00707f, RD = RS1 << (IMM & 63))                                \
    PLAIN(srli,  H, 0x00005013, 0xfc00707f, RD = RS1 >> (IMM & 63))                                \
    PLAIN(srai,  H, 0x40005013, 0xfc00707f, RD = (uint64_t)((int64_t)RS1 >> (IMM & 63)))           \
    PLAIN(add,  R, 0x00000033, 0xfe00707f, RD = RS1 + RS2)                                         \
    PLAIN(sub,  R, 0x40000033, 0xfe00707f, RD = RS1 - RS2)                                         \
    PLAIN(sll,  R, 0x00001033, 0xfe00707f, RD = RS1 << (RS2 & 63))                                 \
    PLAIN(slt,  R, 0x00002033, 0xfe00707f, RD = (int64_t)RS1 < (int64_t)RS2)                       \
    PLAIN(sltu, R, 0x00003033, 0xfe00707f, RD = RS1 < RS2)                                         \
    PLAIN(xor,  R, 0x00004033, 0xfe00707f, RD = RS1 ^ RS2)                                         \
    PLAIN(srl,  R, 0x00005033, 0xfe00707f, RD = RS1 >> (RS2 & 63))                                 \
    PLAIN(sra,  R, 0x40005033, 0xfe00707f, RD = (uint64_t)((int64_t)RS1 >> (RS2 & 63)))            \
    PLAIN(or,   R, 0x00006033, 0xfe00707f, RD = RS1 | RS2)                                         \
    PLAIN(and,  R, 0x00007033, 0xfe00707f, RD = RS1 & RS2)                                         \
    PLAIN(addiw, I, 0x0000001b, 0x0000707f, RD = SIGN_EXTEND_32(RS1 + IMM))                        \
    PLAIN(slliw, H, 0x0000101b, 0xfe00707f, RD = SIGN_EXTEND_32((uint32_t)RS1 << (IMM & 31)))      \
    PLAIN(srliw, H, 0x0000501b, 0xfe00707f, RD = SIGN_EXTEND_32((uint32_t)RS1 >> (IMM & 31)))      \
    PLAIN(sraiw, H, 0x4000501b, 0xfe00707f, RD = (uint64_t)(int64_t)((int32_t)RS1 >> (IMM & 31)))  \
    PLAIN(addw, R, 0x0000003b, 0xfe00707f, RD = SIGN_EXTEND_32(RS1 + RS2))                         \
    PLAIN(subw, R, 0x4000003b, 0xfe00707f, RD = SIGN_EXTEND_32(RS1 - RS2))                         \
    PLAIN(sllw, R, 0x0000103b, 0xfe00707f, RD = SIGN_EXTEND_32((uint32_t)RS1 << (RS2 & 31)))       \
    PLAIN(srlw, R, 0x0000503b, 0xfe00707f, RD = SIGN_EXTEND_32((uint32_t)RS1 >> (RS2 & 31)))       \
    PLAIN(sraw, R, 0x4000503b, 0xfe00707f, RD = (uint64_t)(int64_t)((int32_t)RS1 >> (RS2 & 31)))   \
    PLAIN(fence, I, 0x0000000f, 0x0000707f, (void)0)                                               \
    CONTROL(fence_i, I, 0x0000100f, 0x0000707f)                                                    \
    CONTROL(ecall,   I, 0x00000073, 0xffffffff)                                                    \
    CONTROL(ebreak,  I, 0x00100073, 0xffffffff)                                                    \
    CONTROL(csrrw,  C, 0x00001073, 0x0000707f)                                                     \
    CONTROL(csrrs,  C, 0x00002073, 0x0000707f)                                                     \
    CONTROL(csrrc,  C, 0x00003073, 0x0000707f)                                                     \
    CONTROL(csrrwi, C, 0x00005073, 0x0000707f)                                                     \
    CONTROL(csrrsi, C, 0x00006073, 0x0000707f)                                                     \
    CONTROL(csrrci, C, 0x00007073, 0x0000707f)

#define RISCV_INSTRUCTIONS_M(PLAIN, BRANCH, CONTROL)                                               \
    PLAIN(mul,    R, 0x02000033, 0xfe00707f, RD = RS1 * RS2)                                       \
    PLAIN(mulh,   R, 0x02001033, 0xfe00707f, RD = integer_mulh(RS1, RS2))                          \
    PLAIN(mulhsu, R, 0x02002033, 0xfe00707f, RD = integer_mulhsu(RS1, RS2))                        \
    PLAIN(mulhu,  R, 0x02003033, 0xfe00707f, RD = integer_mulhu(RS1, RS2))                         \
    PLAIN(div,    R, 0x02004033, 0xfe00707f, RD = integer_div(RS1, RS2))                           \
    PLAIN(divu,   R, 0x02005033, 0xfe00707f, RD = integer_divu(RS1, RS2))                          \
    PLAIN(rem,    R, 0x02006033, 0xfe00707f, RD = integer_rem(RS1, RS2))                           \
    PLAIN(remu,   R, 0x02007033, 0xfe00707f, RD = integer_remu(RS1, RS2))                          \
    PLAIN(mulw,   R, 0x0200003b, 0xfe00707f, RD = SIGN_EXTEND_32(RS1 * RS2))                       \
    PLAIN(divw,   R, 0x0200403b, 0xfe00707f, RD = integer_divw(RS1, RS2))                          \
    PLAIN(divuw,  R, 0x0200503b, 0xfe00707f, RD = integer_divuw(RS1, RS2))                         \
    PLAIN(remw,   R, 0x0200603b, 0xfe00707f, RD = integer_remw(RS1, RS2))                          \
    PLAIN(remuw,  R, 0x0200703b, 0xfe00707f, RD = integer_remuw(RS1, RS2))

#define RISCV_ATOMICS(PLAIN, suffix, signed_type, unsigned_type, width)                            \
    PLAIN(lr_##suffix, R, 0x1000002f | width, 0xf9f0707f,                                          \
          RD = (uint64_t)(int64_t)LOAD_RESERVED(signed_type, RS1))                                 \
    PLAIN(sc_##suffix, R, 0x1800002f | width, 0xf800707f,                                          \
          RD = STORE_CONDITIONAL(signed_type, RS1, RS2))                                           \
    PLAIN(amoswap_##suffix, R, 0x0800002f | width, 0xf800707f,                                     \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, value))                                 \
    PLAIN(amoadd_##suffix, R, 0x0000002f | width, 0xf800707f,                                      \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, (unsigned_type)old + (unsigned_type)value)) \
    PLAIN(amoxor_##suffix, R, 0x2000002f | width, 0xf800707f,                                      \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, old ^ value))                           \
    PLAIN(amoand_##suffix, R, 0x6000002f | width, 0xf800707f,                                      \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, old & value))                           \
    PLAIN(amoor_##suffix, R, 0x4000002f | width, 0xf800707f,                                       \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, old | value))                           \
    PLAIN(amomin_##suffix, R, 0x8000002f | width, 0xf800707f,                                      \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, old < value ? old : value))             \
    PLAIN(amomax_##suffix, R, 0xa000002f | width, 0xf800707f,                                      \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1, old > value ? old : value))             \
    PLAIN(amominu_##suffix, R, 0xc000002f | width, 0xf800707f,                                     \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1,                                         \
               (unsigned_type)old < (unsigned_type)value ? old : value))                           \
    PLAIN(amomaxu_##suffix, R, 0xe000002f | width, 0xf800707f,                                     \
          RD = (uint64_t)(int64_t)ATOMIC(signed_type, RS1,                                         \
               (unsigned_type)old > (unsigned_type)value ? old : value))

#define RISCV_INSTRUCTIONS_A(PLAIN, BRANCH, CONTROL)                                               \
    RISCV_ATOMICS(PLAIN, w, int32_t, uint32_t, 0x2000)                                             \
    RISCV_ATOMICS(PLAIN, d, int64_t, uint64_t, 0x3000)

/* `t` is the type's letter in the names of float.h, `width` its bits in the encoding. Format F has
 * a rounding mode field, format R none. */
#define RISCV_FLOATS(PLAIN, t, width)                                                              \
    PLAIN(fmadd_##t,  F, 0x00000043 | width, 0x0600007f, FD = float_madd_##t(FS1, FS2, FS3))       \
    PLAIN(fmsub_##t,  F, 0x00000047 | width, 0x0600007f, FD = float_msub_##t(FS1, FS2, FS3))       \
    PLAIN(fnmsub_##t, F, 0x0000004b | width, 0x0600007f, FD = float_nmsub_##t(FS1, FS2, FS3))      \
    PLAIN(fnmadd_##t, F, 0x0000004f | width, 0x0600007f, FD = float_nmadd_##t(FS1, FS2, FS3))      \
    PLAIN(fadd_##t,   F, 0x00000053 | width, 0xfe00007f, FD = float_add_##t(FS1, FS2))             \
    PLAIN(fsub_##t,   F, 0x08000053 | width, 0xfe00007f, FD = float_sub_##t(FS1, FS2))             \
    PLAIN(fmul_##t,   F, 0x10000053 | width, 0xfe00007f, FD = float_mul_##t(FS1, FS2))             \
    PLAIN(fdiv_##t,   F, 0x18000053 | width, 0xfe00007f, FD = float_div_##t(FS1, FS2))             \
    PLAIN(fsqrt_##t,  F, 0x58000053 | width, 0xfff0007f, FD = float_sqrt_##t(FS1))                 \
    PLAIN(fsgnj_##t,  R, 0x20000053 | width, 0xfe00707f, FD = float_sgnj_##t(FS1, FS2))            \
    PLAIN(fsgnjn_##t, R, 0x20001053 | width, 0xfe00707f, FD = float_sgnjn_##t(FS1, FS2))           \
    PLAIN(fsgnjx_##t, R, 0x20002053 | width, 0xfe00707f, FD = float_sgnjx_##t(FS1, FS2))           \
    PLAIN(fmin_##t,   R, 0x28000053 | width, 0xfe00707f, FD = float_min_##t(FS1, FS2))             \
    PLAIN(fmax_##t,   R, 0x28001053 | width, 0xfe00707f, FD = float_max_##t(FS1, FS2))             \
    PLAIN(fle_##t,    R, 0xa0000053 | width, 0xfe00707f, RD = float_le_##t(FS1, FS2))              \
    PLAIN(flt_##t,    R, 0xa0001053 | width, 0xfe00707f, RD = float_lt_##t(FS1, FS2))              \
    PLAIN(feq_##t,    R, 0xa0002053 | width, 0xfe00707f, RD = float_eq_##t(FS1, FS2))              \
    PLAIN(fclass_##t, R, 0xe0001053 | width, 0xfff0707f, RD = float_class_##t(FS1))                \
    PLAIN(fcvt_w_##t,  F, 0xc0000053 | width, 0xfff0007f, RD = float_to_w_##t(FS1, RM))            \
    PLAIN(fcvt_wu_##t, F, 0xc0100053 | width, 0xfff0007f, RD = float_to_wu_##t(FS1, RM))           \
    PLAIN(fcvt_l_##t,  F, 0xc0200053 | width, 0xfff0007f, RD = float_to_l_##t(FS1, RM))            \
    PLAIN(fcvt_lu_##t, F, 0xc0300053 | width, 0xfff0007f, RD = float_to_lu_##t(FS1, RM))           \
    PLAIN(fcvt_##t##_l,  F, 0xd0200053 | width, 0xfff0007f, FD = float_from_l_##t(RS1))            \
    PLAIN(fcvt_##t##_lu, F, 0xd0300053 | width, 0xfff0007f, FD = float_from_lu_##t(RS1))

#define RISCV_INSTRUCTIONS_FD(PLAIN, BRANCH, CONTROL)                                              \
    PLAIN(flw, I, 0x00002007, 0x0000707f, FD = FLOAT_BOX | LOAD(uint32_t, RS1 + IMM))              \
    PLAIN(fld, I, 0x00003007, 0x0000707f, FD = LOAD(uint64_t, RS1 + IMM))                          \
    PLAIN(fsw, S, 0x00002027, 0x0000707f, STORE(uint32_t, RS1 + IMM, FS2))                         \
    PLAIN(fsd, S, 0x00003027, 0x0000707f, STORE(uint64_t, RS1 + IMM, FS2))                         \
    RISCV_FLOATS(PLAIN, s, 0x00000000)                                                             \
    RISCV_FLOATS(PLAIN, d, 0x02000000)                                                             \
    PLAIN(fcvt_s_w,  F, 0xd0000053, 0xfff0007f, FD = float_from_l_s(SIGN_EXTEND_32(RS1)))          \
    PLAIN(fcvt_s_wu, F, 0xd0100053, 0xfff0007f, FD = float_from_lu_s((uint32_t)RS1))               \
    PLAIN(fcvt_d_w,  F, 0xd2000053, 0xfff0007f, FD = float_from_l_d(SIGN_EXTEND_32(RS1)))          \
    PLAIN(fcvt_d_wu, F, 0xd2100053, 0xfff0007f, FD = float_from_lu_d((uint32_t)RS1))               \
    PLAIN(fcvt_s_d,  F, 0x40100053, 0xfff0007f, FD = float_s_from_d(FS1))                          \
    PLAIN(fcvt_d_s,  F, 0x42000053, 0xfff0007f, FD = float_d_from_s(FS1))                          \
    PLAIN(fmv_x_w, R, 0xe0000053, 0xfff0707f, RD = SIGN_EXTEND_32(FS1))                            \
    PLAIN(fmv_w_x, R, 0xf0000053, 0xfff0707f, FD = FLOAT_BOX | (uint32_t)RS1)                      \
    PLAIN(fmv_x_d, R, 0xe2000053, 0xfff0707f, RD = FS1)                                            \
    PLAIN(fmv_d_x, R, 0xf2000053, 0xfff0707f, FD = RS1)

#define RISCV_INSTRUCTIONS(PLAIN, BRANCH, CONTROL)                                                 \
    RISCV_INSTRUCTIONS_I(PLAIN, BRANCH, CONTROL)                                                   \
    RISCV_INSTRUCTIONS_M(PLAIN, BRANCH, CONTROL)                                                   \
    RISCV_INSTRUCTIONS_A(PLAIN, BRANCH, CONTROL)                                                   \
    RISCV_INSTRUCTIONS_FD(PLAIN, BRANCH, CONTROL)
/* clang-format on */

#endif

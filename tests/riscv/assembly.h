/*
 * assembly.h: what the RISC-V programs in assembly share.
 *
 * `_start` calls main and exits with what it returned: 3 instructions, of which the last one, the
 * ecall, stands below it as `ecall:exit`. Sizes are exact; what a macro costs stands beside it.
 */
.macro function name
    .globl \name
    .type \name, @function
\name:
.endm

.macro end name
    .size \name, . - \name
.endm

.macro open_frame           /* 2 */
    addi sp, sp, -16
    sd ra, 8(sp)
.endm

.macro close_frame          /* 2 */
    ld ra, 8(sp)
    addi sp, sp, 16
.endm

.macro nops count
    .rept \count
    nop
    .endr
.endm

/* The address of a symbol in one instruction less than `la` might take: always 2. */
.macro address register, symbol
8:  auipc \register, %pcrel_hi(\symbol)
    addi \register, \register, %pcrel_lo(8b)
.endm

.option norelax
.section .note.GNU-stack, "", @progbits
.text
function _start
    jal ra, main
    li a7, 93
    ecall
end _start

/*
 * assembly.h: what the programs in assembly share.
 *
 * `_start` calls main and exits with what it returned: 5 instructions. A function that calls
 * others opens and closes a frame, for the oracle to walk: 2 and 1 instructions.
 */
.macro function name
    .globl \name
    .type \name, @function
\name:
.endm

.macro end name
    .size \name, . - \name
.endm

.macro open_frame
    push %rbp
    mov %rsp, %rbp
.endm

.macro close_frame
    pop %rbp
.endm

.macro nops count
    .rept \count
    nop
    .endr
.endm

.section .note.GNU-stack, "", @progbits
.text
function _start
    xor %ebp, %ebp
    call main
    mov %eax, %edi
    mov $231, %eax
    syscall
end _start

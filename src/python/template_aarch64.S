/* The trampoline of one Python function on aarch64: called with the evaluator's four arguments, the
 * evaluator itself the fourth. template.h holds the same bytes; a test compares the two. */
    .text
    .globl trampoline_template
trampoline_template:
    .cfi_startproc
    stp     x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov     x29, sp
    .cfi_def_cfa_register x29
    blr     x3
    ldp     x29, x30, [sp], #16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .section .note.GNU-stack, "", %progbits

/* The trampoline of one Python function on x86-64: called with the evaluator's four arguments, the
 * evaluator itself the fourth. template.h holds the same bytes; a test compares the two. */
    .text
    .globl trampoline_template
trampoline_template:
    .cfi_startproc
    push    %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov     %rsp, %rbp
    .cfi_def_cfa_register %rbp
    call    *%rcx
    pop     %rbp
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .section .note.GNU-stack, "", %progbits

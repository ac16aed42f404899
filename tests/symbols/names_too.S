/* names_too.S: comes after names.S, at 0x100f0; the cold part is before its function here. */
        .file "names_too.c"
        .text
        .type twin.cold, @function
twin.cold:
        .fill 16, 1, 0x90
        .size twin.cold, 16
        .type twin, @function
twin:
        .fill 16, 1, 0x90
        .size twin, 16

/* 0x10110 */
        .type divided, @function
divided:
        .fill 16, 1, 0x90
        .globl divides
divides:
        .fill 16, 1, 0x90
        .size divided, 32

        .section .note.GNU-stack, "", @progbits

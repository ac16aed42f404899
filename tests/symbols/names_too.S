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

        .section .note.GNU-stack, "", @progbits

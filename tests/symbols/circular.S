/* circular.S: debug info that refers to itself, or contradicts itself. .text is linked at 0x10000.
 *
 * `first` and `second` are each other's abstract origin, and what was inlined into `first` is its
 * own origin. Nothing of this has a name, so the symbol table's must show.
 *
 * `third` is claimed by two functions, as when a linker folds the same code: the first has it, and
 * all that was inlined into the second is the second's. `outside` says it was inlined into
 * `one_third`, but its code is not there.
 *
 * `discarded`, and lines 666, are of code that the linker left out: they start at 0, and would
 * cover all the rest. */
        .text
        .globl first
        .type first, @function
first:
        .fill 16, 1, 0x90
        .size first, 16
        .globl second
        .type second, @function
second:
        .fill 16, 1, 0x90
        .size second, 16
        .globl third
        .type third, @function
third:
        .fill 16, 1, 0x90
        .size third, 16
.Lend:

        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 1 /* compile unit: low_pc, high_pc, stmt_list */
        .byte 0x11, 1, 0x12, 7, 0x10, 0x17, 0, 0
        .byte 2, 0x2e, 1 /* subprogram: low_pc, high_pc, abstract_origin */
        .byte 0x11, 1, 0x12, 7, 0x31, 0x13, 0, 0
        .byte 3, 0x1d, 0 /* inlined subroutine: the same, with call_line */
        .byte 0x11, 1, 0x12, 7, 0x31, 0x13, 0x59, 0xb, 0, 0
        .byte 4, 0x2e, 1 /* subprogram: name, low_pc, high_pc */
        .byte 3, 8, 0x11, 1, 0x12, 7, 0, 0
        .byte 5, 0x2e, 0 /* subprogram: name */
        .byte 3, 8, 0, 0
        .byte 0

        .section .debug_info, "", @progbits
.Lunit: .long .Lunit_end - .Lversion
.Lversion:
        .short 4
        .long 0
        .byte 8
        .byte 1
        .quad first
        .quad .Lend - first
        .long 0
        .byte 4
        .asciz "discarded"
        .quad 0
        .quad 0x20000
        .byte 0
.Lfirst: .byte 2
        .quad first
        .quad 16
        .long .Lsecond - .Lunit
.Linlined: .byte 3
        .quad first + 4
        .quad 4
        .long .Linlined - .Lunit
        .byte 77
        .byte 0
.Lsecond: .byte 2
        .quad second
        .quad 16
        .long .Lfirst - .Lunit
        .byte 0
        .byte 4
        .asciz "one_third"
        .quad third
        .quad 16
        .byte 3
        .quad third + 4
        .quad 4
        .long .Linside - .Lunit
        .byte 88
        .byte 3
        .quad second
        .quad 8
        .long .Loutside - .Lunit
        .byte 89
        .byte 0
        .byte 4
        .asciz "other_third"
        .quad third
        .quad 16
        .byte 3
        .quad third + 6
        .quad 8
        .long .Loutside - .Lunit
        .byte 99
        .byte 0
.Linside: .byte 5
        .asciz "inside"
.Loutside: .byte 5
        .asciz "outside"
        .byte 0
.Lunit_end:

        .section .debug_line, "", @progbits
        .long .Llines_end - .Llines
.Llines: .short 4
        .long .Lprogram - .Lheader
.Lheader: .byte 1, 1, 1, 0xfb, 14, 13
        .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
        .byte 0
        .asciz "f"
        .byte 0, 0, 0
        .byte 0
.Lprogram:
        .byte 0, 9, 2 /* third: line 42 */
        .quad third
        .byte 3, 41, 1, 2, 16, 0, 1, 1
        .byte 0, 9, 2 /* 0: line 666 */
        .quad 0
        .byte 3, 0x99, 5, 1, 2, 0x80, 0x80, 8, 0, 1, 1
.Llines_end:

        .section .note.GNU-stack, "", @progbits

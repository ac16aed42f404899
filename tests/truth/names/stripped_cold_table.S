/*
 * A part that was moved away and is jumped to as switches do it, through a register: it goes back into
 * the middle of its function, as no other function would.
 * (It has no frame, which single-stepping takes for granted in parts.)
 *
 * build: freestanding -Wl,--eh-frame-hdr
 * oracle: total
 * stripped: yes
 * tree:
 *     _start 5
 *     _start;main 6
 *     _start;main;table 5
 */
#include "assembly.h"

function main           # 6
    open_frame
    call table
    xor %eax, %eax
    close_frame
    ret
end main

function table          # 2, 1 and 2
    .cfi_startproc
    lea table.cold(%rip), %rax
    jmp *%rax
1:  nop
    ret
    .cfi_endproc
end table

.section .text.unlikely, "ax", @progbits
    .type table.cold, @function
table.cold:             # 1
    .cfi_startproc
    jmp 1b
    .cfi_endproc
    .size table.cold, . - table.cold

/*
 * What looks like a part of the function that jumps to it, and is called later on: from then on it is a
 * function.
 *
 * build: freestanding -Wl,--eh-frame-hdr
 * oracle: total
 * stripped: yes
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;user 4
 *     _start;main;shared 2
 */
#include "assembly.h"

function main           # 7
    open_frame
    call user
    call shared
    xor %eax, %eax
    close_frame
    ret
end main

function user           # 2
    .cfi_startproc
    test %esp, %esp
    jnz shared
    ret
    .cfi_endproc
end user

.section .text.unlikely, "ax", @progbits
    .type shared, @function
shared:                 # 2, twice
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    .size shared, . - shared

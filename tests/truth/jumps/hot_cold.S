/*
 * The compiler moves unlikely code away and names it `split.cold`: it stays part of split. Calls
 * made there are split's, and the way back is no call.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 10
 *     _start;main;split 16
 *     _start;main;split;leaf 4
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 10
 *     _start;main;split 16
 *     _start;main;split;leaf 4
 */
#include "assembly.h"

function main           # 2 + 5 + 3
    open_frame
    xor %ecx, %ecx
    call split
    nop
    mov $1, %ecx
    call split
    xor %eax, %eax
    close_frame
    ret
end main

function split          # usual way: 4 + 3; unlikely way: 4 + 2 + 3
    open_frame
    test %ecx, %ecx
    jnz split.cold
.Lback:
    call leaf
    close_frame
    ret
end split

function leaf           # 2, twice
    nop
    ret
end leaf

.section .text.unlikely, "ax", @progbits
    .type split.cold, @function
split.cold:             # 2
    nop
    jmp .Lback
    .size split.cold, . - split.cold

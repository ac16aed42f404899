/*
 * Calls through a register and through memory, one site with several targets.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 26
 *     _start;main;first 4
 *     _start;main;second 6
 */
#include "assembly.h"

function main           # 2 + 1 + 20 + 3
    open_frame
    xor %ebx, %ebx
.Lturn:                 # 4 turns of 5 instructions
    lea table(%rip), %rax
    call *(%rax,%rbx,8)
    inc %ebx
    cmp $4, %ebx
    jne .Lturn
    xor %eax, %eax
    close_frame
    ret
end main

function first          # 2, twice
    nop
    ret
end first

function second         # 3, twice
    nops 2
    ret
end second

.data
.balign 8
table:
    .quad first, second, second, first

/*
 * An indirect jump inside a function is no call: a table of cases, one of which makes a call and
 * one of which leaves for another function.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 18
 *     _start;main;choose 20
 *     _start;main;choose;leaf 2
 *     _start;main;elsewhere 3
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 18
 *     _start;main;choose 20
 *     _start;main;choose;leaf 2
 *     _start;main;choose;elsewhere 3
 */
#include "assembly.h"

function main           # 2 + 1 + 3 turns of 4 + 3
    open_frame
    xor %ebx, %ebx
.Lturn:
    call choose
    inc %ebx
    cmp $3, %ebx
    jne .Lturn
    xor %eax, %eax
    close_frame
    ret
end main

function choose         # 4 to the case; 3, 3 and 2 in it
    open_frame
    lea table(%rip), %rax
    jmp *(%rax,%rbx,8)
.Lplain:
    nop
    pop %rbp
    ret
.Lcalls:
    call leaf
    pop %rbp
    ret
.Lleaves:
    pop %rbp
    jmp elsewhere
end choose

function leaf           # 2
    nop
    ret
end leaf

function elsewhere      # 3
    nops 2
    ret
end elsewhere

.section .rodata
.balign 8
table:
    .quad .Lplain, .Lcalls, .Lleaves

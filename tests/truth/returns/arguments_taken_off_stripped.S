/*
 * A function that takes an argument off the stack and puts its return address above it, and then jumps
 * to another part of itself, has not been left: the return address is on top of the stack. Without
 * symbols nobody could know even that a function starts there.
 * (The frame is opened in mid-function, where single-stepping does not look for one.)
 *
 * build: freestanding
 * oracle: total
 * stripped: yes
 * tree:
 *     _start 5
 *     _start;main 24
 *     _start;main;once 30
 *     _start;main;once;leaf 6
 *     _start;main;leaf 6
 */
#include "assembly.h"

function main           # 24
    open_frame
    mov $3, %ebx
1:  push $2
    push $1
    call once
    call leaf
    dec %ebx
    jnz 1b
    xor %eax, %eax
    close_frame
    ret
end main

function once           # 10, three times
    pop %rax
    pop %rdx
    push %rax
    lea 2f(%rip), %rcx
    jmp *%rcx
2:  open_frame
    call leaf
    close_frame
    ret $8
end once

function leaf           # 2, six times
    nop
    ret
end leaf

/*
 * A function that jumps to its own start, straight and through a register: the frame stays.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 10
 *     _start;main;direct 31
 *     _start;main;indirect 70
 *     _start;main;indirect;leaf 10
 */
#include "assembly.h"

function main           # 2 + 5 + 3
    open_frame
    mov $10, %ecx
    call direct
    mov $10, %ecx
    lea indirect(%rip), %rdx
    call indirect
    xor %eax, %eax
    close_frame
    ret
end main

function direct         # 9 turns of 3, the last of 4
    dec %ecx
    je .Ldirect_done
    jmp direct
.Ldirect_done:
    nop
    ret
end direct

function indirect       # 10 turns of 7: nine jump, the last returns
    open_frame
    call leaf
    dec %ecx
    close_frame
    je .Lindirect_done
    jmp *%rdx
.Lindirect_done:
    ret
end indirect

function leaf           # 1, ten times
    ret
end leaf

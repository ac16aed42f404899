/*
 * A recursion 1,000 deep that calls from its bottom: every level is a path of its own.
 *
 * build: freestanding
 * total: 7014
 * contexts: 1003
 * paths:
 *     _start;main;descend;descend
 *     descend;descend;descend;leaf
 * never:
 *     leaf;descend
 *     main;leaf
 */
#include "assembly.h"

function main           # 7
    open_frame
    mov $1000, %edi
    call descend
    xor %eax, %eax
    close_frame
    ret
end main

function descend        # 7 a level
    open_frame
    dec %rdi
    je .Lbottom
    call descend
    close_frame
    ret
.Lbottom:
    call leaf
    close_frame
    ret
end descend

function leaf           # 2
    nop
    ret
end leaf

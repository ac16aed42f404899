/*
 * `call` of the next instruction, to learn where the code is: no frame, and nothing left over
 * that a later return could take for its own.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 6
 *     _start;main;where 21
 *     _start;main;where;leaf 6
 */
#include "assembly.h"

function main           # 6
    open_frame
    call where
    xor %eax, %eax
    close_frame
    ret
end main

function where          # 2 + 2 + 3 turns of 5 + 2
    open_frame
    mov $3, %ebx
    nop
.Lturn:                 # 5
    call .Lnext
.Lnext:
    pop %rax
    call leaf
    dec %ebx
    jne .Lturn
    close_frame
    ret
end where

function leaf           # 2, three times
    nop
    ret
end leaf

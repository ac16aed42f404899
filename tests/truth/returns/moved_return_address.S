/*
 * A tail call that passes arguments on the stack moves the return address to make room for them,
 * and the callee removes them as it returns: it is still the return to the first caller.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 8
 *     _start;main;passes 5
 *     _start;main;takes 3
 *     _start;main;leaf 4
 */
#include "assembly.h"

function main           # 8
    open_frame
    call passes
    call leaf
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function passes         # 5
    pop %rax
    push $1
    push $2
    push %rax
    jmp takes
end passes

function takes          # 3
    nops 2
    ret $16
end takes

function leaf           # 2, twice
    nop
    ret
end leaf

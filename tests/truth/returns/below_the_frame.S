/*
 * What is called may move its return address down the stack, to have arguments above it, and leave
 * them there as it returns: the stack pointer ends lower than it was at the call, and the caller
 * puts it right. Adapters from an interpreter to compiled code do this.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 10
 *     _start;main;adapts 8
 *     _start;main;compiled 4
 *     _start;main;leaf 2
 */
#include "assembly.h"

function main           # 10
    open_frame
    call adapts
    lea (%rbp), %rsp
    call adapts
    lea (%rbp), %rsp
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function adapts         # 4, twice
    pop %rax
    sub $48, %rsp
    push %rax
    jmp compiled
end adapts

function compiled       # 2, twice
    nop
    ret
end compiled

function leaf           # 2
    nop
    ret
end leaf

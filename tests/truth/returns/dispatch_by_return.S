/*
 * `push` of an address and `ret` to it: a jump in disguise, so a tail call.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;dispatch 3
 *     _start;main;target 3
 *     _start;main;leaf 2
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 7
 *     _start;main;dispatch 3
 *     _start;main;dispatch;target 3
 *     _start;main;leaf 2
 */
#include "assembly.h"

function main           # 7
    open_frame
    call dispatch
    call leaf           # dispatch must be gone: leaf is main's
    xor %eax, %eax
    close_frame
    ret
end main

function dispatch       # 3
    lea target(%rip), %rax
    push %rax
    ret
end dispatch

function target         # 3
    nops 2
    ret
end target

function leaf           # 2
    nop
    ret
end leaf

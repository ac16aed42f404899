/*
 * A handler stands below the function it interrupted, and its end is the return from it. The two
 * instructions that the kernel's way back takes count as the handler's.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 17
 *     _start;main;ecall:rt_sigaction 1
 *     _start;main;raises 7
 *     _start;main;raises;ecall:getpid 1
 *     _start;main;raises;ecall:kill 1
 *     _start;main;raises;(signal 10);handler 4
 *     _start;main;raises;(signal 10);handler;leaf 1
 *     _start;main;raises;(signal 10);handler;ecall:rt_sigreturn 1
 *     _start;main;leaf 1
 */
#include "assembly.h"

function leaf
    ret
end leaf

function handler            /* 3 + 1 */
    mv s1, ra
    jal ra, leaf
    jr s1
end handler

function raises             /* 7 */
    li a7, 172
    ecall
    li a1, 10
    li a7, 129
    ecall
    nops 3
    ret
end raises

function main
    open_frame
    address t0, handler
    address a1, action
    sd t0, 0(a1)
    li a0, 10
    li a2, 0
    li a3, 8
    li a7, 134
    ecall
    jal ra, raises
    jal ra, leaf
    li a0, 0
    close_frame
    ret
end main

.data
.align 3
action: .dword 0, 0, 0

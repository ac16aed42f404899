/*
 * Two stacks that take turns. `switch_stack` keeps ra and sp of the one it leaves and restores the
 * other's; what runs on the second stack has a tree of its own, from its start on.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 17
 *     _start;main;turn 12
 *     _start;main;turn;switch_stack 12
 *     coroutine 5
 *     coroutine;helper 6
 *     coroutine;helper;switch_stack 6
 *     coroutine;switch_stack 6
 */
#include "assembly.h"

/* s0: where ra and sp of the stack that rests are. */
function switch_stack       /* 6 */
    ld t1, 0(s0)
    ld t2, 8(s0)
    sd ra, 0(s0)
    sd sp, 8(s0)
    mv sp, t2
    jr t1
end switch_stack

function turn               /* 6 */
    open_frame
    jal ra, switch_stack
    close_frame
    ret
end turn

function helper             /* 6, of which 3 in its second turn */
    open_frame
    jal ra, switch_stack
    close_frame
    ret
end helper

function coroutine
    nops 2
    jal ra, helper
    nop
    jal ra, switch_stack
end coroutine

function main
    open_frame
    address s0, resting
    address t0, coroutine
    sd t0, 0(s0)
    address t0, stack_end
    sd t0, 8(s0)
    jal ra, turn
    jal ra, turn
    nop
    li a0, 0
    close_frame
    ret
end main

.bss
.align 4
resting: .skip 16
stack: .skip 4096
stack_end:

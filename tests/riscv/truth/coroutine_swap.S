/*
 * Two coroutines on one stack that swap with one instruction: it goes to where the other one left
 * off and links to come back. To whoever called, that is a return; to the other one a call, each
 * time. However often they swap, the tree is no deeper for it. With the same register for both, with
 * two, and where each has a stack of its own.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 18
 *     _start;main;first 14
 *     _start;main;first;other 11
 *     _start;main;two_links 14
 *     _start;main;two_links;two_others 15
 *     _start;main;own_stack 20
 *     _start;main;own_stack;other_stack 17
 */
#include "assembly.h"

function other              /* 2 in its first turn, then 3 */
1:  nop
    jalr t0, t0
    j 1b
end other

function first              /* 2, 3 in each of 4 rounds */
    mv s1, ra
1:  jalr t0, t0
    addi s0, s0, -1
    bnez s0, 1b
    jr s1
end first

function two_others         /* 3 in its first turn, then 4 */
1:  nop
    mv t1, ra
    jalr t0, ra
    j 1b
end two_others

function two_links          /* as first */
    mv s1, ra
1:  jalr ra, t0
    addi s0, s0, -1
    bnez s0, 1b
    jr s1
end two_links

/* s2: the stack pointer of the one that rests. */
.macro swap_stacks          /* 3 */
    mv t2, sp
    mv sp, s2
    mv s2, t2
.endm

function other_stack        /* 5 in its first turn, then 6 */
1:  nop
    swap_stacks
    jalr t0, t0
    j 1b
end other_stack

function own_stack          /* 2, 6 in each of 3 rounds */
    mv s1, ra
1:  swap_stacks
    jalr t0, t0
    addi s0, s0, -1
    bnez s0, 1b
    jr s1
end own_stack

function main               /* 18 */
    mv s3, ra
    li s0, 4
    address t0, other
    jal ra, first
    li s0, 4
    address t0, two_others
    jal ra, two_links
    li s0, 3
    address t0, other_stack
    address s2, stack_end
    jal ra, own_stack
    li a0, 0
    mv ra, s3
    ret
end main

.bss
.balign 16
.skip 256
stack_end:

/*
 * Jumps to another function: direct, through registers, conditional, and by running into it. The
 * callee stands in the caller's place. A function that jumps to its own start stays.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 11
 *     _start;main;first 2
 *     _start;main;second 3
 *     _start;main;third 3
 *     _start;main;conditional 3
 *     _start;main;runs_on 2
 *     _start;main;loops 6
 *     _start;main;end_of_all 6
 *
 * paths --tail-calls=keep:
 *     main;first;second;third;end_of_all
 *     main;conditional;end_of_all
 */
#include "assembly.h"

function first              /* 2 */
    nop
    j second
end first

function second             /* 3 */
    address t1, third
    jr t1
end second

function third              /* 3 */
    address a5, end_of_all
    jr a5
end third

function conditional        /* 3 */
    li a0, 0
    nop
    beqz a0, end_of_all
    nop
end conditional

function runs_on            /* 2 */
    nops 2
end runs_on
function end_of_all         /* 2 */
    nop
    ret
end end_of_all

function loops              /* 6: 2 times 2, and 2 */
    addi a0, a0, -1
    bgtz a0, loops
    nop
    ret
end loops

function main
    open_frame
    jal ra, first
    jal ra, conditional
    jal ra, runs_on
    li a0, 2
    jal ra, loops
    li a0, 0
    close_frame
    ret
end main

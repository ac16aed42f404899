/*
 * Functions that a compiler cut out of others are called with the return address in t0, and come
 * back through t0; whoever called them keeps its own in ra.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 6
 *     _start;main;OUTLINED_FUNCTION_0 4
 *     _start;main;leaf 6
 *     _start;main;leaf;OUTLINED_FUNCTION_0 8
 */
#include "assembly.h"

function OUTLINED_FUNCTION_0    /* 4 */
    nops 3
    jr t0
end OUTLINED_FUNCTION_0

function leaf                   /* 6 */
    jal t0, OUTLINED_FUNCTION_0
    nop
    address t0, OUTLINED_FUNCTION_0
    jalr t0, t0
    ret
end leaf

function main
    mv s0, ra
    jal t0, OUTLINED_FUNCTION_0
    jal ra, leaf
    mv ra, s0
    nop
    ret
end main

/*
 * `jalr ra, t0` is an ordinary call through a pointer, though to a return-address predictor it is
 * a return and a call at once. Links in other registers are calls too.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 12
 *     _start;main;leaf 2
 *     _start;main;returns_by_a5 2
 */
#include "assembly.h"

function leaf
    nop
    ret
end leaf

function returns_by_a5
    nop
    jr a5
end returns_by_a5

function main
    open_frame
    address t0, leaf
    jalr ra, t0
    address t1, returns_by_a5
    jalr a5, t1
    close_frame
    nops 1
    ret
end main

/*
 * A call enters its target as a child of the caller; each call site of a path counts together.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 8
 *     _start;main;outer 14
 *     _start;main;outer;leaf 6
 *     _start;main;leaf 3
 */
#include "assembly.h"

function main           # 8: frame 2, four calls and their ends
    open_frame
    call outer
    call outer
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function outer          # 7, twice
    open_frame
    nop
    call leaf
    nop
    close_frame
    ret
end outer

function leaf           # 3
    nops 2
    ret
end leaf

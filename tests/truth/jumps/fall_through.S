/*
 * A function that ends without a jump goes on in the next one: as good as a tail call. Entered
 * on its own, the second function has the same frame.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 8
 *     _start;main;upper 3
 *     _start;main;lower 6
 *     _start;main;leaf 1
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 8
 *     _start;main;upper 3
 *     _start;main;upper;lower 3
 *     _start;main;lower 3
 *     _start;main;leaf 1
 */
#include "assembly.h"

function main           # 8
    open_frame
    call upper
    call lower
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function upper          # 3
    nops 3
end upper
function lower          # 3, twice
    nops 2
    ret
end lower

function leaf           # 1
    ret
end leaf

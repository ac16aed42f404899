/*
 * A conditional jump to another function is a tail call when it is taken and nothing otherwise.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 11
 *     _start;main;maybe 6
 *     _start;main;other 3
 *     _start;main;leaf 2
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 11
 *     _start;main;maybe 6
 *     _start;main;maybe;other 3
 *     _start;main;leaf 2
 */
#include "assembly.h"

function main           # 2 + 6 + 3
    open_frame
    mov $0, %ecx
    call maybe
    mov $1, %ecx
    call maybe
    nop
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function maybe          # taken: 2; not taken: 4
    test %ecx, %ecx
    jnz other
    nop
    ret
end maybe

function other          # 3
    nops 2
    ret
end other

function leaf           # 2
    nop
    ret
end leaf

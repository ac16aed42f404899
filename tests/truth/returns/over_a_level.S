/*
 * A function drops its own return address and returns to the caller of its caller, whose frame
 * it had no need for: both frames are left at once.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 10
 *     _start;main;middle 2
 *     _start;main;middle;dropper 4
 *     _start;main;leaf 4
 */
#include "assembly.h"

function main           # 2 + 5 + 3
    open_frame
    call middle
    call leaf
    call middle
    call leaf
    nop
    xor %eax, %eax
    close_frame
    ret
end main

function middle         # 1, twice: never goes on
    call dropper
    nops 10
    ret
end middle

function dropper        # 2, twice
    add $8, %rsp
    ret
end dropper

function leaf           # 2, twice
    nop
    ret
end leaf

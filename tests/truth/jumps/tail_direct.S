/*
 * A tail call replaces the top frame; the callee returns to the caller's caller.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;first 2
 *     _start;main;second 5
 *     _start;main;second;leaf 2
 *     _start;main;third 3
 *     _start;main;leaf 2
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 7
 *     _start;main;first 2
 *     _start;main;first;second 5
 *     _start;main;first;second;leaf 2
 *     _start;main;first;second;third 3
 *     _start;main;leaf 2
 */
#include "assembly.h"

function main           # 7
    open_frame
    call first
    call leaf           # after three tail calls: main's own
    xor %eax, %eax
    close_frame
    ret
end main

function first          # 2
    nop
    jmp second
end first

function second         # 5
    open_frame
    call leaf
    close_frame
    jmp third
end second

function third          # 3
    nops 2
    ret
end third

function leaf           # 2
    nop
    ret
end leaf

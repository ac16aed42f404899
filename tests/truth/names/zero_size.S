/*
 * Symbols without a type and without a size reach to the next symbol.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;untyped 4
 *     _start;main;second 3
 */
#include "assembly.h"

function main           # 7, no size either
    open_frame
    call untyped
    call second
    xor %eax, %eax
    close_frame
    ret

untyped:                # 4
    nops 3
    ret

.globl second
second:                 # 3
    nops 2
    ret

/*
 * Two names for one function: one of them is shown, the same one whichever was called.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;alpha|beta 6
 * paths:
 *     _start;main;alpha|beta
 */
#include "assembly.h"

function main           # 7
    open_frame
    call alpha
    call beta
    xor %eax, %eax
    close_frame
    ret
end main

function alpha          # 3, twice
function beta
    nops 2
    ret
end alpha
end beta

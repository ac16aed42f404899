/*
 * A function is skipped however it was entered: by a call, a jump, a conditional jump, by falling
 * through, by a return to it. Its cost goes to the nearest caller that is shown: whoever jumped is
 * gone, so that is the caller of the jumper.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 12
 *     _start;main;by_jump 1
 *     _start;main;by_branch 2
 *     _start;main;by_return 2
 *     _start;main;falling 2
 *     _start;main;hidden 15
 *     _start;main;hidden;leaf 10
 *     _start;main;leaf 2
 * tree --skip-function=hidden:
 *     _start 5
 *     _start;main 27
 *     _start;main;by_jump 1
 *     _start;main;by_branch 2
 *     _start;main;by_return 2
 *     _start;main;falling 2
 *     _start;main;leaf 12
 * tree --skip-function=hidden --tail-calls=keep:
 *     _start 5
 *     _start;main 15
 *     _start;main;by_jump 4
 *     _start;main;by_jump;leaf 2
 *     _start;main;by_branch 5
 *     _start;main;by_branch;leaf 2
 *     _start;main;by_return 5
 *     _start;main;by_return;leaf 2
 *     _start;main;falling 5
 *     _start;main;falling;leaf 2
 *     _start;main;leaf 4
 */
#include "assembly.h"

function main           # 2 + 7 + 3
    open_frame
    call hidden
    call by_jump
    xor %ecx, %ecx
    call by_branch
    call by_return
    call falling
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function by_jump        # 1
    jmp hidden
end by_jump

function by_branch      # 2
    test %ecx, %ecx
    je hidden
end by_branch

function by_return      # 2
    push $hidden
    ret
end by_return

function falling        # 2
    nops 2
end falling
function hidden         # 3, five times
    call leaf
    nop
    ret
end hidden

function leaf           # 2
    nop
    ret
end leaf

/*
 * Two functions that call each other in tail position a thousand times: the path stays as
 * short as the stack.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;ping 1503
 *     _start;main;pong 1500
 */
#include "assembly.h"

function main           # 7
    open_frame
    mov $1000, %ecx
    call ping
    xor %eax, %eax
    close_frame
    ret
end main

function ping           # 501 times 3: 500 jumps to pong and the return
    dec %ecx
    js .Ldone
    jmp pong
.Ldone:
    ret
end ping

function pong           # 500 turns of 3
    dec %ecx
    nop
    jmp ping
end pong

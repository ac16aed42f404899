/*
 * A return is known by where it goes, not by its instruction: `pop` and an indirect jump return
 * as well as `ret`, and `ret` that removes its arguments.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 13
 *     _start;main;by_jump 3
 *     _start;main;by_register 3
 *     _start;main;with_arguments 2
 *     _start;main;leaf 1
 */
#include "assembly.h"

function main           # 2 + 8 + 3
    open_frame
    call by_jump
    nop
    call by_register
    nop
    push %rax
    push %rax
    call with_arguments
    call leaf
    xor %eax, %eax
    close_frame
    ret
end main

function by_jump        # 3
    nop
    pop %rcx
    jmp *%rcx
end by_jump

function by_register    # 3
    mov (%rsp), %rdx
    lea 8(%rsp), %rsp
    jmp *%rdx
end by_register

function with_arguments # 2
    nop
    ret $16
end with_arguments

function leaf           # 1
    ret
end leaf

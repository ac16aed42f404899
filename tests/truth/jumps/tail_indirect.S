/*
 * Tail calls through a register and through memory; one site that goes to two functions.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 13
 *     _start;main;through_register 6
 *     _start;main;through_memory 1
 *     _start;main;first 6
 *     _start;main;second 2
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 13
 *     _start;main;through_register 6
 *     _start;main;through_register;first 3
 *     _start;main;through_register;second 2
 *     _start;main;through_memory 1
 *     _start;main;through_memory;first 3
 */
#include "assembly.h"

function main           # 2 + 8 + 3
    open_frame
    lea first(%rip), %rbx
    call through_register
    lea second(%rip), %rbx
    call through_register
    nops 3
    call through_memory
    xor %eax, %eax
    close_frame
    ret
end main

function through_register # 3, twice
    nop
    mov %rbx, %rax
    jmp *%rax
end through_register

function through_memory # 1
    jmp *place(%rip)
end through_memory

function first          # 3, twice
    nops 2
    ret
end first

function second         # 2
    nop
    ret
end second

.data
.balign 8
place:
    .quad first

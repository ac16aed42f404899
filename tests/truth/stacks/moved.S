/*
 * A stack that has become too small is copied to another place, and the program goes on in the
 * copy, as Go does: on a stack of its own the copier is called, then control jumps to where the
 * call that asked for it would have returned. All frames are still there, and return.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 5
 *     _start;main;outer 2
 *     _start;main;outer;middle 4
 *     _start;main;outer;middle;move 6
 *     _start;main;outer;middle;move;copy 7
 *     _start;main;outer;middle;leaf 1
 */
#include "assembly.h"

function main
    lea 8(%rsp), %rax
    mov %rax, bottom(%rip)
    call outer
    xor %eax, %eax
    ret
end main

function outer
    call middle
    ret
end outer

function middle
    call move
    nop
    call leaf
    ret
end middle

function move
    pop %rdx
    mov %rsp, %rsi
    lea other_stack(%rip), %rsp
    call copy
    mov %rax, %rsp
    jmp *%rdx
end move

function copy
    mov bottom(%rip), %rcx
    sub %rsi, %rcx
    lea new_stack(%rip), %rdi
    sub %rcx, %rdi
    mov %rdi, %rax
    rep movsb
    ret
end copy

function leaf
    ret
end leaf

    .bss
    .balign 16
    .skip 4096
other_stack:
    .skip 8192
new_stack:
bottom:
    .skip 8

/*
 * An interpreter that calls compiled code by pushing one of its few places to go on and jumping to it.
 * That jumps on to the interpreter, to have another function interpreted, whose frame will return to that
 * place; and there the same place is pushed once more. It looks as if the frame's return address had been
 * moved down (see returns/below_the_frame.S); but that is still where it was, and it is the interpreter
 * itself that jumps. OpenJDK does this.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;interprets 11
 *     _start;main;interprets;compiled 2
 *     _start;main;interprets;interprets 12
 *     _start;main;interprets;interprets;leaf 2
 */
#include "assembly.h"

function main           # 7
    open_frame
    mov $2, %r13d
    call interprets
    xor %eax, %eax
    close_frame
    ret
end main

function interprets     # 11, and 12
    open_frame
    lea compiled(%rip), %rdx
    dec %r13d
    jnz 1f
    lea leaf(%rip), %rdx
1:  lea .Lback(%rip), %rax
    push %rax
    jmp *%rdx
.Lback:
    mov %rbp, %rsp
    close_frame
    ret
end interprets

function compiled       # 2
    nop
    jmp interprets
end compiled

function leaf           # 2
    nop
    ret
end leaf

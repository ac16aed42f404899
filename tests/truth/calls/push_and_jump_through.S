/*
 * An interpreter that calls by pushing its place to go on and jumping, mostly to the start of a function.
 * Where it does not know what to call before it has asked, it jumps into the middle of a stub, which jumps
 * on to the function: that is called by the interpreter, whose place lies on the stack. OpenJDK's method
 * handles do this.
 *
 * The oracle takes the place for one after a call, which it is not.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 6
 *     _start;main;interprets 21
 *     _start;main;interprets;leaf 4
 *     _start;main;stub 2
 */
#include "assembly.h"

function main           # 6
    open_frame
    call interprets
    xor %eax, %eax
    close_frame
    ret
end main

function interprets     # 21
    open_frame
    lea leaf(%rip), %rdx
    mov %rdx, %rcx
1:  mov %rbp, %rsp
    lea .Lback(%rip), %rax
    push %rax
    jmp *%rcx
.Lback:
    cmp %rdx, %rcx
    lea .Lstub(%rip), %rcx
    je 1b
    mov %rbp, %rsp
    close_frame
    ret
end interprets

function stub           # 2
    ud2
.Lstub:
    nop
    jmp *%rdx
end stub

function leaf           # 2, twice
    nop
    ret
end leaf

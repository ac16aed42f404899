/*
 * A tail call may pass on fewer arguments than its function was called with: it takes them off the
 * stack and puts its return address above them, so that the stack pointer rises over where the frame
 * ended at the call. Nothing was left, and the one it jumps to returns to the first caller. V8's
 * f.call(receiver, ...) does this, and once for each `call` in f.call.call(...).
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 39
 *     _start;main;once 12
 *     _start;main;takes_two 15
 *     _start;main;takes_two;leaf 6
 *     _start;main;twice 12
 *     _start;main;again 15
 *     _start;main;takes_one 6
 *     _start;main;leaf 6
 */
#include "assembly.h"

function main           # 39
    open_frame
    mov $3, %ebx
1:  push $3
    push $2
    push $1
    call once
    push $3
    push $2
    push $1
    call twice
    call leaf
    dec %ebx
    jnz 1b
    xor %eax, %eax
    close_frame
    ret
end main

function once           # 4, three times
    pop %rax
    pop %rdx
    push %rax
    jmp takes_two
end once

function takes_two      # 5, three times
    open_frame
    call leaf
    close_frame
    ret $16
end takes_two

function twice          # 4, three times
    pop %rax
    pop %rdx
    push %rax
    jmp again
end twice

function again          # 5, three times
    pop %rax
    pop %rdx
    push %rax
    lea takes_one(%rip), %rcx
    jmp *%rcx
end again

function takes_one      # 2, three times
    nop
    ret $8
end takes_one

function leaf           # 2, six times
    nop
    ret
end leaf

/*
 * A call that never returns: what was called takes its caller's frame away, makes another in its place,
 * of whatever size, with the start of a function as the place to go on, and returns there. V8 does this
 * to compiled code that it gives up, and goes on in the interpreter. The new function stands where the
 * compiled one stood, and returns to its caller; the stack is the same one.
 *
 * The oracle takes `goes_on`, whose frame is made for it, for a function without one.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 18
 *     _start;main;small 12
 *     _start;main;small;grows 18
 *     _start;main;large 12
 *     _start;main;large;shrinks 30
 *     _start;main;goes_on 30
 *     _start;main;goes_on;leaf 12
 */
#include "assembly.h"

function main           # 18
    open_frame
    mov $3, %ebx
1:  call small
    call large
    dec %ebx
    jnz 1b
    xor %eax, %eax
    close_frame
    ret
end main

function small          # 4, three times
    open_frame
    sub $16, %rsp
    call grows
    ud2
end small

function grows          # 6, three times
    lea -256(%rbp), %rsp
    lea goes_on(%rip), %rax
    push $0
    movq $0, -24(%rbp)
    push %rax
    ret
end grows

function large          # 4, three times
    open_frame
    sub $256, %rsp
    call shrinks
    ud2
end large

function shrinks        # 10, three times
    lea -16(%rbp), %rsp
    lea goes_on(%rip), %rax
    push %rax
    lea -512(%rbp), %rsp
    .rept 3
    push $0
    .endr
    lea -24(%rbp), %rsp
    movq $0, -264(%rbp)
    ret
end shrinks

function goes_on        # 5, six times
    call leaf
    nop
    mov %rbp, %rsp
    close_frame
    ret
end goes_on

function leaf           # 2, six times
    nop
    ret
end leaf

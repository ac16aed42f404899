/*
 * A caller makes the frame of what it calls, and that takes its return address off the top of the stack
 * and puts it to the frame's end, as SBCL's functions do: a little above where the call has put it. It
 * is called still, whether it jumps then or calls others, which do the same.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 16
 *     _start;main;jumps 11
 *     _start;main;jumps;leaf 4
 *     _start;main;calls 8
 *     _start;main;calls;leaf 4
 */
#include "assembly.h"

    .macro in_frame bytes, function
    lea -16(%rsp), %r11
    sub $\bytes, %rsp
    mov %rbp, (%r11)
    mov %r11, %rbp
    call \function
    .endm

    .macro leave_frame
    mov %rbp, %rsp
    pop %rbp
    ret
    .endm

function main
    push %rbp
    mov %rsp, %rbp
    in_frame 0x88, jumps
    in_frame 0x48, calls
    nop
    pop %rbp
    xor %eax, %eax
    ret
end main

function jumps
    pop 8(%rbp)
    lea 1f(%rip), %rax
    jmp *%rax
1:  sub $16, %rsp
    mov %rbp, (%rsp)
    mov %rsp, %rbp
    call leaf
    nop
    leave_frame
end jumps

function calls
    pop 8(%rbp)
    sub $16, %rsp
    mov %rbp, (%rsp)
    mov %rsp, %rbp
    call leaf
    leave_frame
end calls

function leaf
    pop 8(%rbp)
    leave_frame
end leaf

/*
 * The push of an address and a jump to a function are a call from the function that has the address,
 * though another one jumps: where an interpreter goes on in a frame that was left in haste (resumes),
 * it calls as if from the place where all the other calls in that frame are made. V8 does so where an
 * exception was caught, and where compiled code is given up.
 *
 * The oracle takes `resumes` for a function whose return address is on top of the stack.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 15
 *     _start;main;interprets 45
 *     _start;main;interprets;handler 30
 *     _start;main;interprets;handler;leaf 12
 *     _start;main;resumes 9
 */
#include "assembly.h"

function main           # 15
    open_frame
    mov $3, %ebx
1:  call interprets
    dec %ebx
    jnz 1b
    xor %eax, %eax
    close_frame
    ret
end main

function interprets     # 15, three times
    open_frame
    sub $16, %rsp
    xor %ecx, %ecx
    lea handler(%rip), %rdx
    call *%rdx
.Lback:
    inc %ecx
    cmp $2, %ecx
    jb resumes
    mov %rbp, %rsp
    close_frame
    ret
end interprets

function resumes        # 3, three times
    lea .Lback(%rip), %rax
    push %rax
    jmp *%rdx
end resumes

function handler        # 5, six times
    open_frame
    call leaf
    close_frame
    ret
end handler

function leaf           # 2
    nop
    ret
end leaf

/*
 * The pushed address of push_and_jump_resumed may be the very one that the frame itself will return
 * to, where an interpreter interprets itself: the inner frame was called from the same place, by a
 * handler that jumps. It looks as if the frame's return address had been moved down (see
 * returns/below_the_frame.S); but something was thrown, and this is the function that caught it.
 *
 * The oracle takes `resumes` for a function whose return address is on top of the stack.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;interprets 15
 *     _start;main;interprets;handler 11
 *     _start;main;interprets;handler;leaf 2
 *     _start;main;interprets;interprets 15
 *     _start;main;interprets;interprets;handler 22
 *     _start;main;interprets;interprets;handler;leaf 4
 *     _start;main;interprets;interprets;throws 4
 *     _start;main;interprets;resumes 6
 *     _start;main;resumes 3
 */
#include "assembly.h"

function main           # 7
    open_frame
    mov $2, %r13d       # the second handler interprets, the third throws
    call interprets
    xor %eax, %eax
    close_frame
    ret
end main

function interprets     # 15, twice
    open_frame
    sub $16, %rsp
    movq $0, -8(%rbp)
    lea handler(%rip), %rdx
    call *%rdx
.Lback:
    incq -8(%rbp)
    cmpq $2, -8(%rbp)
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

function handler        # 9, three times; 2 where it interprets, 4 where it throws
    dec %r13d
    jz interprets
    cmp $-1, %r13d
    je throws
    open_frame
    call leaf
    close_frame
    ret
end handler

function throws         # 4
    mov %rbp, %rsp
    sub $16, %rsp
    lea resumes(%rip), %rax
    jmp *%rax
end throws

function leaf           # 2
    nop
    ret
end leaf

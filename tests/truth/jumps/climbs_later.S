/*
 * As climbs.S, but the stack pointer is set in one block and the jump is made in another one, which has
 * been seen before as that of a switch: nothing in the block itself says that it may leave frames.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 6005
 *     _start;main;climbs 25000
 *     _start;main;climbs;climbs 11000
 *     _start;main;climbs;climbs;climbs 11000
 *     _start;main;climbs;climbs;climbs;climbs 10000
 */
#include "assembly.h"

function main           # 5 + 1000 * 6
    open_frame
    mov $1000, %ebx
1:  mov $4, %edi
    call climbs
    mov $3, %edi
    call climbs
    dec %ebx
    jnz 1b
    close_frame
    ret
end main

function climbs         # 10; 15, 11 and 11; 10
    open_frame
    lea .Ltable(%rip), %rax
    test %edi, %edi
    jz .Lclimb
    mov (%rax, %rdi, 8), %rax
.Ljump:
    jmp *%rax
.Lfirst:
    mov %rsp, saved(%rip)
.Lnext:
    nop
    nop
    dec %edi
    call climbs
    ud2
.Lclimb:
    mov saved(%rip), %rsp
    mov %rsp, %rbp
    mov 32(%rax), %rax
    jmp .Ljump
.Lback:
    nop
    close_frame
    ret
end climbs

.data
.balign 8
.Ltable: .quad 0, .Lnext, .Lnext, .Lfirst, .Lback
saved:  .quad 0

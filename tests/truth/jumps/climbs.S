/*
 * A function that calls itself three times deep and jumps from there back into its first activation, as
 * __builtin_longjmp does: an indirect jump within one function, but out of three frames. Between them it
 * jumps by a table as switches do, in the same frame.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 6005
 *     _start;main;climbs 27000
 *     _start;main;climbs;climbs 11000
 *     _start;main;climbs;climbs;climbs 11000
 *     _start;main;climbs;climbs;climbs;climbs 7000
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

function climbs         # 10; 17, 11 and 11; 7
    open_frame
    test %edi, %edi
    jz .Lclimb
    lea .Ltable(%rip), %rax
    mov (%rax, %rdi, 8), %rax
    jmp *%rax
.Lfirst:
    mov %rsp, saved(%rip)
    lea .Lback(%rip), %rax
    mov %rax, place(%rip)
.Lnext:
    nop
    nop
    dec %edi
    call climbs
    ud2
.Lclimb:
    mov saved(%rip), %rsp
    mov %rsp, %rbp
    jmp *place(%rip)
.Lback:
    nop
    close_frame
    ret
end climbs

.data
.balign 8
.Ltable: .quad 0, .Lnext, .Lnext, .Lfirst, .Lback
saved:  .quad 0
place:  .quad 0

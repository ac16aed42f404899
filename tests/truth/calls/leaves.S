/*
 * Functions that call nothing, called often enough that an engine takes a short way: plain, with a
 * loop, by a pointer, from two sites, with flags that the caller wants back, one that returns past its
 * caller, one that returns to another place of it, and one that is left by a jump.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 16005
 *     _start;main;plain 4000
 *     _start;main;loops 8000
 *     _start;main;keeps_flags 2000
 *     _start;main;skips 3000
 *     _start;main;skips;past 3000
 *     _start;main;elsewhere 3000
 *     _start;main;jumps 1000
 *     _start;main;end_of_jump 2000
 */
#include "assembly.h"

function main           # 5 + 1000 * 16
    open_frame
    mov $1000, %ebx
1:  call plain
    lea plain(%rip), %rax
    call *%rax
    call loops
    stc
    call keeps_flags
    jnc 9f
    call skips
    call elsewhere
    ud2
2:  nop
    call jumps
    nop
    lea .Lend(%rip), %rcx
    mov %rcx, %rdx
    dec %ebx
    jnz 1b
    close_frame
    ret
9:  ud2
end main

function plain          # 2
    mov $1, %eax
    ret
end plain

function loops          # 8
    mov $3, %ecx
1:  dec %ecx
    jnz 1b
.Lend:
    ret
end loops

function keeps_flags    # 2
    lea 1(%rax), %rax
    ret
end keeps_flags

function skips          # 3
    open_frame
    call past
    ud2
end skips

function past           # 3: back to main
    add $8, %rsp
    pop %rbp
    ret
end past

function elsewhere      # 3: over the ud2
    addq $2, (%rsp)
    nop
    ret
end elsewhere

function jumps          # 1
    jmp end_of_jump
end jumps

function end_of_jump    # 2
    nop
    ret
end end_of_jump

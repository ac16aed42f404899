/*
 * The push of an address and a jump to the start of a function are a call of it: it returns there.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 33
 *     _start;main;leaf 6
 *     _start;main;opens 15
 *     _start;main;opens;leaf 6
 */
#include "assembly.h"

function main           # 33
    open_frame
    mov $3, %ebx
1:  lea 2f(%rip), %rax
    push %rax
    jmp leaf
2:  lea 3f(%rip), %rax
    push %rax
    lea opens(%rip), %rcx
    jmp *%rcx
3:  dec %ebx
    jnz 1b
    xor %eax, %eax
    close_frame
    ret
end main

function opens          # 5, three times
    open_frame
    call leaf
    close_frame
    ret
end opens

function leaf           # 2, six times
    nop
    ret
end leaf

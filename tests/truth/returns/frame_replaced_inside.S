/*
 * As frame_replaced.S, but it goes on in the middle of a function: OpenJDK gives up compiled code so, and
 * goes on where its interpreter would be.
 *
 * The oracle takes `goes_on`, whose frame is made for it, for a function without one.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 15
 *     _start;main;small 12
 *     _start;main;small;grows 18
 *     _start;main;goes_on 15
 *     _start;main;goes_on;leaf 6
 */
#include "assembly.h"

function main           # 15
    open_frame
    mov $3, %ebx
1:  call small
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
    lea .Linside(%rip), %rax
    push $0
    movq $0, -24(%rbp)
    push %rax
    ret
end grows

function goes_on        # 5, three times
    ud2
.Linside:
    call leaf
    nop
    mov %rbp, %rsp
    close_frame
    ret
end goes_on

function leaf           # 2, three times
    nop
    ret
end leaf

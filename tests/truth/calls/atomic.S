/*
 * Instructions that some engines take apart, count once like any other: read, change and write
 * under a lock, exchange, compare and exchange, conditional moves, bit scans, divisions.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 9
 *     _start;main;locked 10
 *     _start;main;exchanged 5
 *     _start;main;ordinary 16
 *     _start;main;branching 8
 */
#include "assembly.h"

function main           # 2 + 4 + 3
    open_frame
    call locked
    call exchanged
    call ordinary
    call branching
    xor %eax, %eax
    close_frame
    ret
end main

function locked         # 10
    lock incl place(%rip)
    lock decl place(%rip)
    lock addq $5, place(%rip)
    lock subl $1, place(%rip)
    lock xaddl %ecx, place(%rip)
    lock orl $1, place(%rip)
    lock btsl $4, place(%rip)
    lock notl place(%rip)
    lock negl place(%rip)
    ret
end locked

function exchanged      # 5
    xchg %ecx, place(%rip)
    lock cmpxchgl %edx, place(%rip)
    lock cmpxchg8b place(%rip)
    cmpxchgl %edx, place(%rip)
    ret
end exchanged

function ordinary       # 16
    mov $7, %eax
    xor %edx, %edx
    mov $3, %ecx
    div %ecx
    cmovne %eax, %ecx
    setne %dl
    bsf %ecx, %edx
    bsr %ecx, %edx
    shl %cl, %edx
    rcl %cl, %edx
    mfence
    lea place(%rip), %rsi
    lea place(%rip), %rdi
    movsb
    movsq
    ret
end ordinary

function branching      # 8: a lock, and a branch on its outcome, taken and not
    movl $2, place(%rip)
    lock decl place(%rip)
    je .Lnever
    lock decl place(%rip)
    jne .Lnever
    nop
    lock incl place(%rip)
    ret
.Lnever:
    nops 50
    ret
end branching

.data
.balign 16
place:
    .quad 0, 0

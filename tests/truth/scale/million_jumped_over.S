/*
 * A jump out of a recursion a million deep, over all of its frames at once, twice: what runs after
 * it is main's.
 *
 * build: freestanding
 * oracle: none
 * folded: no
 * total: 6000033
 * contexts: 1000003
 */
#include "assembly.h"

function main           # 2 + 10 + 2 times 4 + 4
    open_frame
    mov $9, %eax        # mmap(NULL, 64 MB, read and write, private and anonymous, -1, 0)
    xor %edi, %edi
    mov $0x4000000, %esi
    mov $3, %edx
    mov $0x22, %r10d
    mov $-1, %r8
    xor %r9d, %r9d
    syscall
    lea 0x4000000(%rax), %rsp
    mov %rsp, %r12
    mov $1000000, %edi
    lea .Lfirst(%rip), %r13
    call descend
.Lfirst:
    call leaf
    mov $1000000, %edi
    lea .Lsecond(%rip), %r13
    call descend
.Lsecond:
    call leaf
    mov %rbp, %rsp
    xor %eax, %eax
    close_frame
    ret
end main

function descend        # 3 a level, and 4 at the bottom
    dec %rdi
    je .Lbottom
    call descend
    nop
    ret
.Lbottom:
    mov %r12, %rsp
    jmp *%r13
end descend

function leaf           # 1, twice
    ret
end leaf

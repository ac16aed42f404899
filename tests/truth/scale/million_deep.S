/*
 * A recursion a million deep, down and up again, on 64 MB that the program maps for it. Its folded
 * tree would have half a million million frames, so only the totals are looked at; and nobody
 * waits for an oracle that steps five million times.
 *
 * build: freestanding
 * oracle: none
 * folded: no
 * total: 5000022
 * contexts: 1000002
 */
#include "assembly.h"

function main           # 2 + 8 + 3 + 6
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
    mov $1000000, %edi
    call descend
    nop
    mov %rbp, %rsp
    xor %eax, %eax
    nop
    close_frame
    ret
end main

function descend        # 5 a level, the last 3: 4,999,998
    dec %rdi
    je .Lbottom
    call descend
    nop
.Lbottom:
    ret
end descend

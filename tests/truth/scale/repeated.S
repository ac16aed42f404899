/*
 * REP: an instruction that repeats itself counts once, whether it runs a thousand times, once,
 * not at all, or stops early.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 11
 *     _start;main;store_many 4
 *     _start;main;store_none 4
 *     _start;main;copy 5
 *     _start;main;scan 6
 *     _start;main;compare 5
 */
#include "assembly.h"

function main           # 2 + 6 + 3
    open_frame
    cld
    call store_many
    call store_none
    call copy
    call scan
    call compare
    xor %eax, %eax
    close_frame
    ret
end main

function store_many     # 4
    lea buffer(%rip), %rdi
    mov $1000, %ecx
    rep stosb
    ret
end store_many

function store_none     # 4
    lea buffer(%rip), %rdi
    xor %ecx, %ecx
    rep stosq
    ret
end store_none

function copy           # 5
    lea buffer(%rip), %rsi
    lea other(%rip), %rdi
    mov $100, %ecx
    rep movsq
    ret
end copy

function scan           # 6: stops at the first byte
    lea buffer(%rip), %rdi
    mov $1000, %ecx
    mov %eax, %edx
    mov %edx, %eax
    repne scasb
    ret
end scan

function compare        # 5: stops where they differ
    lea buffer(%rip), %rsi
    lea other+1(%rip), %rdi
    mov $100, %ecx
    repe cmpsb
    ret
end compare

.bss
.balign 16
buffer:
    .skip 4096
other:
    .skip 4096

/*
 * Parts that the compiler moved away are parts of their functions without symbols too: entered with the
 * frame that a function begins with, on a condition, or gone back from; or entered with another
 * frame. What is described in the same place and jumped to as tail calls are, and
 * returns, is a function.
 *
 * build: freestanding -Wl,--eh-frame-hdr
 * stripped: yes
 * tree:
 *     _start 5
 *     _start;main 15
 *     _start;main;early 7
 *     _start;main;back 5
 *     _start;main;late 8
 *     _start;main;late;leaf 2
 *     _start;main;last 2
 *     _start;main;seldom 4
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 15
 *     _start;main;early 7
 *     _start;main;back 5
 *     _start;main;late 8
 *     _start;main;late;leaf 2
 *     _start;main;last 2
 *     _start;main;last;seldom 4
 */
#include "assembly.h"

.macro described name
    function \name
    .cfi_startproc
.endm

.macro described_end name
    .cfi_endproc
    end \name
.endm

.macro cold name
    .pushsection .text.unlikely, "ax", @progbits
    .type \name, @function
\name:
    .cfi_startproc
.endm

.macro cold_end name
    .cfi_endproc
    end \name
    .popsection
.endm

described main          # 15
    open_frame
    .cfi_def_cfa_offset 16
    mov $1, %ecx
    call early
    mov $3, %ecx
    call early
    mov $1, %ecx
    call back
    mov $1, %ecx
    call late
    mov $1, %ecx
    call last
    xor %eax, %eax
    close_frame
    ret
described_end main

described early         # 2, and 2 or 1: returns in its part
    cmp $2, %ecx
    jle early.cold
    ret
described_end early

    cold early.cold
    nop
    ret
    cold_end early.cold

described back          # 2, 1 and 2: no condition leads there
    nop
    jmp back.cold
1:  nop
    ret
described_end back

    cold back.cold
    jmp 1b
    cold_end back.cold

described late          # 4, 2 and 2: in mid-frame
    open_frame
    .cfi_def_cfa_offset 16
    test %ecx, %ecx
    jnz late.cold
2:  close_frame
    ret
described_end late

    cold late.cold
    .cfi_def_cfa_offset 16
    call leaf
    jmp 2b
    cold_end late.cold

described leaf          # 2
    nop
    ret
described_end leaf

described last          # 2: a tail call
    nop
    jmp seldom
described_end last

    cold seldom         # 4
    nops 3
    ret
    cold_end seldom

/*
 * A retpoline: the thunk calls its own second half, overwrites the return address with the target
 * and returns there. The return matches no call, so it is a jump; by then the stack pointer has
 * left both halves of the thunk, and the target stands directly below the caller.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 9
 *     _start;main;indirect_thunk 2
 *     _start;main;indirect_thunk;indirect_thunk 4
 *     _start;main;target 10
 *     _start;main;target;leaf 4
 */
#include "assembly.h"

function main           # 2 + 4 + 3
    open_frame
    lea target(%rip), %rax
    call indirect_thunk
    lea target(%rip), %rax
    call indirect_thunk
    xor %eax, %eax
    close_frame
    ret
end main

function indirect_thunk # 1 + 2, twice
    call .Lset_up
.Lcapture:
    pause
    lfence
    jmp .Lcapture
.Lset_up:
    mov %rax, (%rsp)
    ret
end indirect_thunk

function target         # 5, twice
    open_frame
    call leaf
    close_frame
    ret
end target

function leaf           # 2, twice
    nop
    ret
end leaf

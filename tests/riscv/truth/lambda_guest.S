/*
 * A zkVM guest: registers are 0 but the stack pointer, halting is an environment call, precompiles
 * show as leaves.
 *
 * abi: lambda
 * tree:
 *     _start 2
 *     _start;ecall:halt 1
 *     _start;main 11
 *     _start;main;hash 2
 *     _start;main;hash;ecall:keccak_permute 1
 *     _start;main;say 5
 *     _start;main;say;ecall:commit 1
 */
#include "assembly.h"

function hash               /* 2 */
    ecall
    nop
    ret
end hash

function say                /* 5 */
    li a0, 1
    mv a1, sp
    li a2, 8
    li a7, 64
    ecall
    ret
end say

function main
    open_frame
    address a0, state
    li a7, -2
    jal ra, hash
    jal ra, say
    li a0, 0
    close_frame
    ret
end main

.bss
.align 3
state: .skip 200

/*
 * Save and restore routines: called through t0, save comes back with a lower stack pointer;
 * restore is jumped to, undoes the frame and returns in its caller's place. An outlined epilogue
 * is called through t0 and comes back with a higher stack pointer.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 6
 *     _start;main;save 3
 *     _start;main;work 4
 *     _start;main;work;save 3
 *     _start;main;work;leaf 1
 *     _start;main;restore 3
 *     _start;main;outlined 4
 *     _start;main;outlined;open 3
 *     _start;main;outlined;leaf 1
 *     _start;main;outlined;close 3
 *     _start;restore 3
 */
#include "assembly.h"

function save               /* 3 */
    addi sp, sp, -32
    sd ra, 24(sp)
    jr t0
end save

function restore            /* 3 */
    ld ra, 24(sp)
    addi sp, sp, 32
    ret
end restore

function open               /* 3 */
    addi sp, sp, -16
    sd ra, 8(sp)
    jr t0
end open

function close              /* 3 */
    ld ra, 8(sp)
    addi sp, sp, 16
    jr t0
end close

function leaf               /* 1 */
    ret
end leaf

function work               /* 4; `restore` returns for it */
    jal t0, save
    jal ra, leaf
    nop
    j restore
end work

function outlined           /* 4 */
    jal t0, open
    jal ra, leaf
    jal t0, close
    ret
end outlined

function main               /* 6 */
    jal t0, save
    jal ra, work
    nop
    jal ra, outlined
    li a0, 0
    j restore
end main

/*
 * Out of three frames at once, as longjmp does: stack pointer and ra restored, then `ret` to where
 * the first call of the pair returned.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 13
 *     _start;main;keep 4
 *     _start;main;outer 3
 *     _start;main;outer;middle 3
 *     _start;main;outer;middle;inner 1
 *     _start;main;outer;middle;leave 4
 *     _start;main;after 1
 */
#include "assembly.h"

function keep               /* 4: returns 0 */
    sd sp, 0(s0)
    sd ra, 8(s0)
    li a0, 0
    ret
end keep

function leave              /* 4: `keep` returns again, with 1 */
    ld sp, 0(s0)
    ld ra, 8(s0)
    li a0, 1
    ret
end leave

function inner              /* 1 */
    j leave
end inner

function middle             /* 3 */
    open_frame
    jal ra, inner
end middle

function outer              /* 3 */
    open_frame
    jal ra, middle
end outer

function after              /* 1 */
    ret
end after

function main
    open_frame
    address s0, place
    jal ra, keep
    bnez a0, 1f
    jal ra, outer
1:  jal ra, after
    li a0, 0
    close_frame
    ret
end main

.bss
place: .skip 16

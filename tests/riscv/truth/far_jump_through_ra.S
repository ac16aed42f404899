/*
 * A jump out of a branch's reach goes through ra, whose value was saved: `auipc ra; jr ra` is no
 * return.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 6
 *     _start;main;far 8
 */
#include "assembly.h"

function far                /* 8 */
    open_frame
8:  auipc ra, %pcrel_hi(1f)
    jalr x0, %pcrel_lo(8b)(ra)
    nops 100
1:  nop
    close_frame
    ret
end far

function main
    open_frame
    jal ra, far
    close_frame
    ret
end main

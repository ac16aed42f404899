/*
 * A jump through t0, which looks like a return to those who go by registers, inside a function;
 * from a leaf and from a function with a frame.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 12
 *     _start;main;choose 10
 *     _start;main;choose_framed 9
 */
#include "assembly.h"

function choose             /* 5: case 1 */
    address t0, 1f
    jr t0
    nops 3
1:  li a0, 0
    ret
end choose

function choose_framed      /* 9 */
    open_frame
    address t0, 1f
    jr t0
    nops 3
1:  li a0, 0
    close_frame
    ret
end choose_framed

function main
    open_frame
    jal ra, choose
    jal ra, choose
    jal ra, choose_framed
    address t0, 1f
    nop
    jr t0
1:  close_frame
    ret
end main

/*
 * Calls that leave their address in ra; recursion nests.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 9
 *     _start;main;leaf 6
 *     _start;main;twice 9
 *     _start;main;twice;leaf 3
 *     _start;main;twice;twice 7
 *     _start;main;twice;twice;leaf 3
 *
 * tree --skip-function=leaf:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 15
 *     _start;main;twice 12
 *     _start;main;twice;twice 10
 */
#include "assembly.h"

function leaf               /* 3 */
    nops 2
    ret
end leaf

/* a0 more levels of itself: 9, and 7 at the last. */
function twice
    open_frame
    jal ra, leaf
    beqz a0, 1f
    li a0, 0
    jal ra, twice
1:  close_frame
    ret
end twice

function main
    open_frame
    jal ra, leaf
    li a0, 1
    jal ra, twice
    jal ra, leaf
    close_frame
    ret
end main

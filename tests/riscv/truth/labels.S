/*
 * `addi x0, x0, N` labels what follows in its function, until the next label or the return. The
 * label itself still belongs to what was before.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 3
 *     _start;main;label:1 4
 *     _start;main;label:1;leaf 2
 *     _start;main;label:2 2
 *     _start;main;label:2;tail 1
 *     _start;main;label:2;other 3
 *     _start;main;label:3 4
 */
#include "assembly.h"

function leaf               /* 2 */
    nop
    ret
end leaf

function other              /* 3 */
    nops 2
    ret
end other

function tail               /* 1 */
    j other
end tail

function main
    open_frame
    addi x0, x0, 1
    nop
    jal ra, leaf
    nop
    addi x0, x0, 2
    jal ra, tail
    addi x0, x0, 3
    li a0, 0
    close_frame
    ret
end main

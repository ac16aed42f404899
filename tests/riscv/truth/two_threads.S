/*
 * A thread without a C library. It begins behind the call that made it, in main, and has a root of
 * its own; so the tree has main twice, below _start and at the top. The first thread ends at once,
 * and its status is the program's; the second one works on. Nothing depends on who goes first.
 *
 * qemu: no
 * tree:
 *     _start 1
 *     _start;main 9
 *     _start;main;ecall:clone 1
 *     _start;main;ecall:exit 1
 *     main 5
 *     main;ecall:exit 1
 *     main;worker 400004
 *     main;worker;step 800000
 */
#include "assembly.h"

function step               /* 8: as nobody comes between, sc succeeds */
    address t1, word
1:  lr.d t2, (t1)
    addi t2, t2, 1
    sc.d t3, t2, (t1)
    bnez t3, 1b
    nop
    ret
end step

function worker             /* 4 n + 4: li is two */
    mv s1, ra
    li s0, 100000
1:  jal ra, step
    addi s0, s0, -1
    nop
    bnez s0, 1b
    jr s1
end worker

function main
    li a0, 0x50f00          /* 2: VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
    address a1, stack_end
    li a7, 220
    ecall
    beqz a0, 1f
    li a0, 0
    li a7, 93
    nop
    ecall
1:  jal ra, worker
    li a7, 93
    li a0, 7
    nop
    ecall
end main

.bss
.balign 16
word:
    .zero 8
    .zero 4096
stack_end:

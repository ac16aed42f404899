/*
 * A thousand children, one after the other, each with the same small work: their costs add up to
 * the instruction, and what the parent did before is counted once.
 *
 * build: freestanding
 * oracle: none
 * slow: yes
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;child *
 *     _start;main;child;leaf 3000
 *     _start;main;before *
 */
#include "freestanding.h"

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nnop\nret\n.size leaf, . - leaf\n");

NOINLINE void before(void)
{
    for (int i = 0; i < 1000; i++)
        sink++;
}

NOINLINE void child(void)
{
    leaf();
    CALL1(SYS_exit_group, 0);
}

int main(void)
{
    before();
    for (int i = 0; i < 1000; i++) {
        word pid = CALL0(SYS_fork);
        if (pid == 0)
            child();
        CALL4(SYS_wait4, pid, 0, 0, 0);
    }
    say("done\n");
    return 0;
}

/*
 * Children of children, forked at different depths, each going on by itself and returning all the
 * way up: every return lands on a true frame.
 *
 * build: freestanding
 * tree:
 *     _start 14
 *     _start;main *
 *     _start;main;outer *
 *     _start;main;outer;inner *
 *     _start;main;outer;inner;leaf 12
 *     _start;main;leaf 12
 */
#include "freestanding.h"

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nnop\nret\n.size leaf, . - leaf\n");

static word wait_for;

NOINLINE void inner(void)
{
    wait_for = CALL0(SYS_fork); /* two processes come here, four go on */
    leaf();
    if (wait_for)
        CALL4(SYS_wait4, wait_for, 0, 0, 0);
}

NOINLINE void outer(void)
{
    word pid = CALL0(SYS_fork);
    inner();
    if (pid && wait_for) /* the two that came first wait for those they made */
        CALL4(SYS_wait4, pid, 0, 0, 0);
    sink++;
}

int main(void)
{
    outer();
    leaf();
    return 0;
}

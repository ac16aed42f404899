/*
 * A forked child goes on with the path of its parent and with costs of its own: what the parent
 * did before the fork is counted once.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;before *
 *     _start;main;family *
 *     _start;main;family;child *
 *     _start;main;family;child;leaf 3
 *     _start;main;family;parent *
 *     _start;main;family;parent;leaf 6
 */
#include "freestanding.h"

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nnop\nret\n.size leaf, . - leaf\n");

NOINLINE void before(void)
{
    for (int i = 0; i < 50; i++)
        sink++;
}

NOINLINE void child(void)
{
    leaf();
    say("child\n");
    CALL1(SYS_exit_group, 3);
}

NOINLINE int parent(word pid)
{
    int status = 0;
    CALL4(SYS_wait4, pid, &status, 0, 0);
    leaf();
    leaf();
    say("parent\n");
    return status >> 8;
}

NOINLINE int family(void)
{
    word pid = CALL0(SYS_fork);
    if (pid == 0)
        child();
    return parent(pid) + (int)sink; /* 3 + 50 */
}

int main(void)
{
    before();
    int status = family();
    say("over\n");
    return status;
}

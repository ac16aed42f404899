/*
 * A vforked child runs on the stack of its parent until it exits: its calls are its own, and the
 * parent goes on where it was.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;family *
 *     _start;main;family;child *
 *     _start;main;family;child;leaf 3
 *     _start;main;family;leaf 6
 */
#include "freestanding.h"

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nnop\nret\n.size leaf, . - leaf\n");

NOINLINE void child(void)
{
    leaf();
    say("child\n");
    CALL1(SYS_exit_group, 3);
}

NOINLINE int family(void)
{
    int status = 0;
    word pid = CALL0(SYS_vfork);
    if (pid == 0)
        child();
    leaf();
    CALL4(SYS_wait4, pid, &status, 0, 0);
    leaf();
    return status >> 8;
}

int main(void)
{
    int status = family();
    say("parent\n");
    return status;
}

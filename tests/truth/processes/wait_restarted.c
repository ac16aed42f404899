/*
 * A wait for one child while another ends: nobody handles its signal, so that the kernel drops it, or,
 * for a tracer, shows it and makes the system call again. To the program it is one call either way.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;spin 3
 *     _start;main;start_child *
 *     _start;main;start_child;spin 120002
 */
#include "freestanding.h"

void spin(word turns);
__asm__(".type spin, @function\n"
        "spin: dec %rdi\njnz spin\nret\n"
        ".size spin, . - spin\n");

static NOINLINE word start_child(word turns)
{
    word pid = CALL0(SYS_fork);
    if (pid)
        return pid;
    spin(turns);
    CALL1(SYS_exit_group, 0);
    return 0;
}

int main(void)
{
    word soon = start_child(2000), late = start_child(58000);
    CALL4(SYS_wait4, late, 0, 0, 0);
    CALL4(SYS_wait4, soon, 0, 0, 0);
    spin(1);
    return 0;
}

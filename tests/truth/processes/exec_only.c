/*
 * exec without fork: the process goes on as another program, with a tree of its own, and its exit
 * status is that of the run.
 *
 * build: freestanding -DWITH_ARGUMENTS
 * tree:
 *     _start 11
 *     _start;main *
 *     _start;main;before *
 *     _start;main;after 2
 */
#include "freestanding.h"

void after(void);
__asm__(".type after, @function\nafter: nop\nret\n.size after, . - after\n");

NOINLINE void before(char *program)
{
    char *arguments[] = {program, "again", 0};
    char *environment[] = {0};
    CALL3(SYS_execve, program, arguments, environment);
}

int main(int count, char **arguments)
{
    if (count == 1)
        before(arguments[0]);
    after();
    return 5;
}

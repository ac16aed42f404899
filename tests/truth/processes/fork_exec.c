/*
 * exec starts a new tree in the same process; its parent goes on with its own.
 *
 * build: freestanding -DWITH_ARGUMENTS
 * tree:
 *     _start 14
 *     _start;main *
 *     _start;main;run *
 *     _start;main;executed *
 *     _start;main;executed;leaf *
 */
#include "freestanding.h"

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void executed(void)
{
    for (int i = 0; i < 5; i++)
        leaf();
    say("executed\n");
}

NOINLINE int run(char *program)
{
    char *arguments[] = {program, "again", 0};
    char *environment[] = {0};
    int status = 0;
    word pid = CALL0(SYS_fork);
    if (pid == 0)
        CALL3(SYS_execve, program, arguments, environment);
    CALL4(SYS_wait4, pid, &status, 0, 0);
    return status >> 8;
}

int main(int count, char **arguments)
{
    if (count > 1) {
        executed();
        return 9;
    }
    int status = run(arguments[0]);
    say("parent\n");
    return status;
}

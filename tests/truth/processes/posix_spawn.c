/*
 * posix_spawn: the C library makes the child with a stack of its own, inside the address space of
 * its parent. The executed program, this one again, has a tree of its own.
 *
 * build: dynamic
 * paths:
 *     main;executed;leaf
 *     main;parent
 * never:
 *     parent;executed
 *     executed;parent
 *     main;main
 */
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE int executed(void)
{
    for (int i = 0; i < 10; i++)
        leaf();
    puts("executed");
    return 7;
}

NOINLINE int parent(char *program)
{
    char *arguments[] = {program, "again", NULL}, *environment[] = {NULL};
    int status = 0;
    pid_t pid;
    if (posix_spawn(&pid, program, NULL, NULL, arguments, environment) != 0)
        return 1;
    waitpid(pid, &status, 0);
    puts("parent");
    return WEXITSTATUS(status);
}

int main(int count, char **arguments)
{
    int status = count > 1 ? executed() : parent(arguments[0]);
    sink++;
    return status;
}

/*
 * Threads have roots of their own; two that do the same add up. The first thread ends before them.
 *
 * build: freestanding
 * tree:
 *     _start 2
 *     _start;main *
 *     _start;main;spawn_thread 27
 *     spawn_thread 21
 *     spawn_thread;worker *
 *     spawn_thread;worker;leaf *
 *     spawn_thread;other *
 */
#include "freestanding.h"

static char stacks[3][4096];

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void worker(void)
{
    for (int i = 0; i < 20; i++)
        leaf();
}

NOINLINE void other(void)
{
    word own = 0;
    for (int i = 0; i < 100; i++)
        __asm__ volatile("" : "+r"(own));
}

int main(void)
{
    spawn_thread(worker, stacks[1]);
    spawn_thread(worker, stacks[2]);
    spawn_thread(other, stacks + 3);
    CALL1(SYS_exit, 0); /* this thread only: the process ends with its last thread */
    return 0;
}

/*
 * On and off in one thread, then in another that was running all the while: each is found with
 * its own path. Pauses keep the threads from running at the same time.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start;main *
 *     _start;main;recorded_part *
 *     _start;main;recorded_part;leaf 4
 *     spawn_thread;worker *
 *     spawn_thread;worker;recorded_part *
 *     spawn_thread;worker;recorded_part;leaf 4
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

#define SYS_nanosleep 35

static char stack[4096];
static int ends[2];

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void pause_a_while(void)
{
    word time[2] = {0, 300000000};
    CALL2(SYS_nanosleep, time, 0);
}

NOINLINE void recorded_part(void)
{
    leaf();
    TRUEFLAME_START();
    leaf();
    leaf();
    sink++;
}

NOINLINE void worker(void)
{
    pause_a_while(); /* until main waits */
    recorded_part();
    TRUEFLAME_STOP();
    CALL3(SYS_write, ends[1], "x", 1);
}

int main(void)
{
    char byte;
    CALL1(SYS_pipe, ends);
    spawn_thread(worker, stack + sizeof stack);
    CALL3(SYS_read, ends[0], &byte, 1);
    pause_a_while(); /* until the worker has ended */
    recorded_part();
    TRUEFLAME_STOP();
    return 0;
}

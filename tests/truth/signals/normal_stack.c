/*
 * A handler stands under the function it interrupted, below the marker of its signal. The two
 * instructions that return from it are the C library's `__restore_rt`.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;worker *
 *     _start;main;worker;leaf *
 *     _start;main;worker;(signal 10);handler *
 *     _start;main;worker;(signal 10);handler;leaf *
 *     _start;main;worker;(signal 10);__restore_rt 6
 *     _start;main;(signal 10);handler *
 *     _start;main;(signal 10);handler;leaf *
 *     _start;main;(signal 10);__restore_rt 2
 */
#include "freestanding.h"

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    leaf();
    sink++;
}

NOINLINE void worker(void)
{
    for (int i = 0; i < 3; i++) {
        raise_signal(SIGUSR1_NUMBER);
        leaf(); /* worker's again */
    }
}

int main(void)
{
    handle_signal(SIGUSR1_NUMBER, handler, 0);
    worker();
    raise_signal(SIGUSR1_NUMBER);
    say("done\n");
    return 0;
}

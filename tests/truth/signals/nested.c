/*
 * A signal inside the handler of another, and the same signal inside its own handler.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;(signal 10);outer *
 *     _start;main;(signal 10);outer;(signal 12);inner *
 *     _start;main;(signal 10);outer;(signal 12);inner;leaf *
 *     _start;main;(signal 10);outer;(signal 12);inner;(signal 12);inner *
 *     _start;main;(signal 10);outer;(signal 12);inner;(signal 12);inner;leaf *
 *     _start;main;(signal 10);outer;(signal 12);inner;(signal 12);__restore_rt 2
 *     _start;main;(signal 10);outer;(signal 12);__restore_rt 2
 *     _start;main;(signal 10);outer;leaf *
 *     _start;main;(signal 10);__restore_rt 2
 *     _start;main;leaf *
 */
#include "freestanding.h"

static volatile int times;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void inner(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    leaf();
    if (times++ == 0)
        raise_signal(SIGUSR2_NUMBER);
}

NOINLINE void outer(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    raise_signal(SIGUSR2_NUMBER);
    leaf();
    sink++;
}

int main(void)
{
    handle_signal(SIGUSR1_NUMBER, outer, 0);
    handle_signal(SIGUSR2_NUMBER, inner, NOT_MASKED);
    raise_signal(SIGUSR1_NUMBER);
    leaf();
    return 0;
}

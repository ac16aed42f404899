/*
 * On in a signal handler, off in the next: what was interrupted is in the path.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start;main *
 *     _start;main;worker *
 *     _start;main;worker;leaf 2
 *     _start;main;worker;(signal 10);switch_on *
 *     _start;main;worker;(signal 10);__restore_rt 2
 *     _start;main;(signal 12);switch_off *
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void switch_on(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    TRUEFLAME_START();
    sink++;
}

NOINLINE void switch_off(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    sink++;
    TRUEFLAME_STOP();
}

NOINLINE void worker(void)
{
    leaf();
    raise_signal(SIGUSR1_NUMBER);
    leaf();
    sink++;
}

int main(void)
{
    handle_signal(SIGUSR1_NUMBER, switch_on, 0);
    handle_signal(SIGUSR2_NUMBER, switch_off, 0);
    worker();
    raise_signal(SIGUSR2_NUMBER);
    leaf();
    return 0;
}

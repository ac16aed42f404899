/*
 * A signal that arrives in a skipped function stands under the nearest caller that is shown; the
 * trampoline and the handler can be skipped too. Markers are no functions and stay.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;hidden *
 *     _start;main;hidden;(signal 10);handler *
 *     _start;main;hidden;(signal 10);handler;leaf 2
 *     _start;main;hidden;(signal 10);__restore_rt 2
 * tree --skip-function=hidden:
 *     _start 5
 *     _start;main *
 *     _start;main;(signal 10);handler *
 *     _start;main;(signal 10);handler;leaf 2
 *     _start;main;(signal 10);__restore_rt 2
 * tree --skip-function=__restore_rt --skip-function=handler:
 *     _start 5
 *     _start;main *
 *     _start;main;hidden *
 *     _start;main;hidden;(signal 10) *
 *     _start;main;hidden;(signal 10);leaf 2
 */
#include "freestanding.h"

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    leaf();
    sink++;
}

NOINLINE void hidden(void)
{
    raise_signal(SIGUSR1_NUMBER);
    sink++;
}

int main(void)
{
    handle_signal(SIGUSR1_NUMBER, handler, 0);
    hidden();
    return 0;
}

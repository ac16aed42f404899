/*
 * A signal in a coroutine, on its stack, whose handler switches back to main in the middle, and
 * is gone on with later.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;leaf *
 *     _start;main;switch_stack 30
 *     body *
 *     body;(signal 10);handler *
 *     body;(signal 10);handler;switch_stack 15
 *     body;(signal 10);__restore_rt 2
 *     body;leaf *
 *     body;switch_stack 15
 */
#include "freestanding.h"

static struct coroutine of_main, of_body;
static char stack[65536];

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    switch_stack(&of_body, &of_main);
    sink++;
}

NOINLINE void body(void)
{
    raise_signal(SIGUSR1_NUMBER);
    leaf();
    switch_stack(&of_body, &of_main);
    sink++;
}

int main(void)
{
    handle_signal(SIGUSR1_NUMBER, handler, 0);
    prepare_coroutine(&of_body, stack + sizeof stack, body);
    switch_stack(&of_main, &of_body);
    leaf();
    switch_stack(&of_main, &of_body);
    leaf();
    return 0;
}

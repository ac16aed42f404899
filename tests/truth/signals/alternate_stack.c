/*
 * A handler on a stack of its own: its path is the same as on the normal one.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;worker *
 *     _start;main;worker;leaf *
 *     _start;main;worker;(signal 12);handler *
 *     _start;main;worker;(signal 12);handler;leaf *
 *     _start;main;worker;(signal 12);__restore_rt 4
 */
#include "freestanding.h"

static char stack[16384];

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void handler(int number, void *information, void *context)
{
    char here;
    (void)number, (void)information, (void)context;
    if (&here < stack || &here >= stack + sizeof stack)
        say("not on the alternate stack\n");
    leaf();
    sink++;
}

NOINLINE void worker(void)
{
    raise_signal(SIGUSR2_NUMBER);
    leaf();
    raise_signal(SIGUSR2_NUMBER);
    leaf();
    sink++;
}

int main(void)
{
    struct {
        void *address;
        int flags;
        word size;
    } alternate = {stack, 0, sizeof stack};
    CALL2(SYS_sigaltstack, &alternate, 0);
    handle_signal(SIGUSR2_NUMBER, handler, ON_ALTERNATE_STACK);
    worker();
    return 0;
}

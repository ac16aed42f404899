/*
 * The alternate stack is an array in main's own frame, above the stack that is interrupted.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;worker *
 *     _start;main;worker;leaf *
 *     _start;main;worker;(signal 10);handler *
 *     _start;main;worker;(signal 10);handler;leaf *
 *     _start;main;worker;(signal 10);__restore_rt 4
 *     _start;main;leaf *
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
    for (int i = 0; i < 2; i++) {
        raise_signal(SIGUSR1_NUMBER);
        leaf();
    }
}

int main(void)
{
    char stack[16384];
    struct {
        void *address;
        int flags;
        word size;
    } alternate = {stack, 0, sizeof stack};
    CALL2(SYS_sigaltstack, &alternate, 0);
    handle_signal(SIGUSR1_NUMBER, handler, ON_ALTERNATE_STACK);
    worker();
    leaf();
    return 0;
}

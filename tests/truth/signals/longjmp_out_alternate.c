/*
 * A handler on the alternate stack that never returns: it jumps out, over the frame that the kernel
 * made. The signal's marker ends there, and the same signal can come again.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;set_jump 24
 *     _start;main;worker *
 *     _start;main;worker;(signal 10);handler *
 *     _start;main;worker;(signal 10);handler;long_jump 18
 *     _start;main;leaf *
 */
#include "freestanding.h"

static jump_point point;
static char stack[16384];

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    long_jump(point, 1);
}

NOINLINE void worker(void)
{
    raise_signal(SIGUSR1_NUMBER);
    say("never reached\n");
}

int main(void)
{
    struct {
        void *address;
        int flags;
        word size;
    } alternate = {stack, 0, sizeof stack};
    CALL2(SYS_sigaltstack, &alternate, 0);
    handle_signal(SIGUSR1_NUMBER, handler, ON_ALTERNATE_STACK | NOT_MASKED);
    for (volatile int i = 0; i < 2; i++) {
        if (set_jump(point) == 0)
            worker();
        leaf();
    }
    return 0;
}

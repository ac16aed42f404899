/*
 * Forks inside a signal handler and inside a coroutine: the children go on with those paths, back
 * through the handler and to the other stack.
 *
 * build: freestanding
 * tree:
 *     _start *
 *     _start;main *
 *     _start;main;leaf 8
 *     _start;main;switch_stack 30
 *     _start;main;(signal 10);handler *
 *     _start;main;(signal 10);handler;fork_and_wait *
 *     _start;main;(signal 10);handler;leaf 4
 *     _start;main;(signal 10);__restore_rt 4
 *     body *
 *     body;fork_and_wait *
 *     body;leaf 8
 *     body;switch_stack 60
 */
#include "freestanding.h"

static struct coroutine of_main, of_body;
static char stack[4096];

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

/* Parent and child both return; the child first. */
NOINLINE void fork_and_wait(void)
{
    word pid = CALL0(SYS_fork);
    if (pid) {
        CALL4(SYS_wait4, pid, 0, 0, 0);
        sink++;
    }
}

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    fork_and_wait();
    leaf();
    sink++;
}

NOINLINE void body(void)
{
    fork_and_wait();
    leaf();
    switch_stack(&of_body, &of_main);
    sink++;
}

int main(void)
{
    handle_signal(SIGUSR1_NUMBER, handler, 0);
    raise_signal(SIGUSR1_NUMBER);
    prepare_coroutine(&of_body, stack + sizeof stack, body);
    switch_stack(&of_main, &of_body);
    leaf();
    return 0;
}

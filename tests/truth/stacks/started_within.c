/*
 * Coroutines that were made and run before recording began, resumed while it is on: the path of
 * each is the one it has.
 *
 * build: static
 * record: --start=off
 * paths:
 *     body;deeper;leaf
 *     body;leaf
 *     main;leaf
 * never:
 *     main;body
 *     main;deeper
 *     swapcontext;deeper
 *     swapcontext;leaf
 */
#define _GNU_SOURCE
#include <trueflame/trueflame.h>
#include <ucontext.h>

static volatile unsigned long sink;
static ucontext_t of_main, of_body;
static char array[65536];
#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void deeper(void)
{
    swapcontext(&of_body, &of_main);
    leaf();
    sink++;
}

NOINLINE void body(void)
{
    deeper();
    leaf();
    swapcontext(&of_body, &of_main);
}

int main(void)
{
    getcontext(&of_body);
    of_body.uc_stack.ss_sp = array;
    of_body.uc_stack.ss_size = sizeof array;
    makecontext(&of_body, body, 0);
    swapcontext(&of_main, &of_body);
    TRUEFLAME_START();
    swapcontext(&of_main, &of_body);
    leaf();
    TRUEFLAME_STOP();
    return 0;
}

/*
 * One stack, used for one coroutine after another: the second has nothing of the first's path,
 * though the first was never left by returning.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;run *
 *     _start;main;run;switch_stack 30
 *     one *
 *     one;deeper *
 *     one;deeper;switch_stack 15
 *     two *
 *     two;switch_stack 15
 */
#include "freestanding.h"

static struct coroutine of_main, of_other;
static char stack[4096];

NOINLINE void deeper(void)
{
    switch_stack(&of_other, &of_main);
    sink++;
}

NOINLINE void one(void)
{
    deeper();
    sink++;
}

NOINLINE void two(void)
{
    switch_stack(&of_other, &of_main);
    sink++;
}

NOINLINE void run(void (*body)(void))
{
    prepare_coroutine(&of_other, stack + sizeof stack, body);
    switch_stack(&of_main, &of_other);
    sink++;
}

int main(void)
{
    run(one);
    run(two);
    return 0;
}

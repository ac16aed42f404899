/*
 * Two coroutines and main take turns, by a switch written in assembly. One stack is an array, one
 * is mapped memory. Each has its own root, and is found again when the program comes back to it,
 * in the middle of its calls.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;step 10
 *     _start;main;switch_stack 60
 *     first *
 *     first;deeper *
 *     first;deeper;switch_stack 15
 *     first;deeper;leaf *
 *     first;switch_stack 30
 *     second *
 *     second;switch_stack 30
 *     second;leaf *
 */
#include "freestanding.h"

static struct coroutine of_main, of_first, of_second;
static char array[4096];

NOINLINE void leaf(void)
{
    sink++;
}

void step(void);
__asm__(".type step, @function\nstep: nop\nret\n.size step, . - step\n"); /* 2 instructions */

NOINLINE void deeper(void)
{
    leaf();
    switch_stack(&of_first, &of_second); /* leaves in mid-call */
    leaf();
    sink++;
}

NOINLINE void first(void)
{
    deeper();
    for (;;)
        switch_stack(&of_first, &of_main);
}

NOINLINE void second(void)
{
    for (;;) {
        leaf();
        switch_stack(&of_second, &of_main);
    }
}

int main(void)
{
    prepare_coroutine(&of_first, array + sizeof array, first);
    prepare_coroutine(&of_second, (char *)map_memory(4096, MEMORY_READ_WRITE) + 4096, second);
    step();
    switch_stack(&of_main, &of_first); /* first;deeper, then second, then here */
    step();
    switch_stack(&of_main, &of_first); /* the rest of deeper, then here */
    step();
    switch_stack(&of_main, &of_first);
    step();
    switch_stack(&of_main, &of_second);
    step();
    return 0;
}

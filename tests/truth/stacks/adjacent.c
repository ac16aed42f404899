/*
 * Eight coroutines on stacks that lie next to each other in one array, taking turns in the middle
 * of their calls: nothing but the stack pointer tells one stack from the next.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;switch_stack 480
 *     body *
 *     body;deeper *
 *     body;deeper;deeper *
 *     body;deeper;deeper;switch_stack 360
 *     body;deeper;deeper;leaf *
 *     body;deeper;leaf *
 *     body;leaf *
 *     body;switch_stack 120
 */
#include "freestanding.h"

enum { COROUTINES = 8, STACK_BYTES = 512, TURNS = 4 };

static struct coroutine of_main, of_body[COROUTINES];
static char stacks[COROUTINES][STACK_BYTES] __attribute__((aligned(16)));
static int running;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void deeper(int depth)
{
    if (depth)
        deeper(depth - 1);
    else
        for (int i = 0; i < 3; i++) {
            leaf();
            switch_stack(&of_body[running], &of_main);
        }
    leaf();
    sink++;
}

NOINLINE void body(void)
{
    for (;;) {
        deeper(1);
        leaf();
        switch_stack(&of_body[running], &of_main);
    }
}

int main(void)
{
    for (int i = 0; i < COROUTINES; i++)
        prepare_coroutine(&of_body[i], stacks[i] + STACK_BYTES, body);
    for (int turn = 0; turn < TURNS; turn++)
        for (running = 0; running < COROUTINES; running++)
            switch_stack(&of_main, &of_body[running]);
    return 0;
}

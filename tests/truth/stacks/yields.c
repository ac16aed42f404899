/*
 * Two coroutines that run the same function and give way at the same place: the switch, which calls
 * nothing, comes back to the address it was called from, but on the other stack.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;give_way *
 *     _start;main;give_way;switch_stack *
 *     worker *
 *     worker;give_way *
 *     worker;give_way;switch_stack *
 */
#include "freestanding.h"

#define ROUNDS 500

static struct coroutine places[3];
static word started;
static char stacks[2][4096];

NOINLINE void give_way(word from, word to)
{
    switch_stack(&places[from], &places[to]);
    sink++;
}

NOINLINE void worker(void)
{
    word self = ++started;
    for (;;)
        give_way(self, self == 1 ? 2 : 0);
}

int main(void)
{
    prepare_coroutine(&places[1], stacks[0] + sizeof stacks[0], worker);
    prepare_coroutine(&places[2], stacks[1] + sizeof stacks[1], worker);
    for (word i = 0; i < ROUNDS; i++)
        give_way(0, 1);
    return 0;
}

/*
 * Two coroutines wait at the same place, and the stacks of both are moved while they do, as Go's
 * collector does: the second one's to where the first one's was. Each goes on in its own path.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;move *
 *     _start;main;switch_stack 60
 *     first_body *
 *     first_body;first *
 *     first_body;first;wait *
 *     first_body;first;wait;switch_stack 15
 *     first_body;first;leaf *
 *     first_body;switch_stack 15
 *     second_body *
 *     second_body;second *
 *     second_body;second;wait *
 *     second_body;second;wait;switch_stack 15
 *     second_body;second;other_leaf *
 *     second_body;switch_stack 15
 */
#include "freestanding.h"

static struct coroutine of_main, of_first, of_second;
static char stacks[3][4096] __attribute__((aligned(16)));

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void other_leaf(void)
{
    sink += 2;
}

NOINLINE void wait(struct coroutine *own)
{
    sink++;
    switch_stack(own, &of_main);
    sink++;
}

NOINLINE void first(void)
{
    wait(&of_first);
    leaf();
    sink++;
}

NOINLINE void second(void)
{
    wait(&of_second);
    other_leaf();
    sink++;
}

NOINLINE void first_body(void)
{
    first();
    for (;;)
        switch_stack(&of_first, &of_main);
}

NOINLINE void second_body(void)
{
    second();
    for (;;)
        switch_stack(&of_second, &of_main);
}

/* Frame pointers, a chain that ends with 0, move along. */
NOINLINE void move(struct coroutine *coroutine, char *from, char *to)
{
    word distance = to - from;
    word *sp = (word *)coroutine->registers[6];
    for (word *at = sp; at < (word *)(from + sizeof stacks[0]); at++)
        *(word *)((char *)at + distance) = *at;
    for (word *link = &coroutine->registers[1]; *link; link = (word *)*link)
        *link += distance;
    coroutine->registers[6] += distance;
    for (word *at = sp; at < (word *)(from + sizeof stacks[0]); at++)
        *at = 0;
}

int main(void)
{
    prepare_coroutine(&of_first, stacks[0] + sizeof stacks[0], first_body);
    prepare_coroutine(&of_second, stacks[1] + sizeof stacks[1], second_body);
    switch_stack(&of_main, &of_first);
    switch_stack(&of_main, &of_second);
    move(&of_first, stacks[0], stacks[2]);
    move(&of_second, stacks[1], stacks[0]);
    switch_stack(&of_main, &of_second);
    switch_stack(&of_main, &of_first);
    return 0;
}

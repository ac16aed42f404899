/*
 * more_contexts.c: two functions call each other and themselves, so that every path is another: four
 * million contexts, more than the engine has near room for. Three times: those of the first are found.
 */
#include <stdio.h>

#define DEPTH 21

static void one(int depth);
static void other(int depth);

static __attribute__((noinline)) void step(int depth)
{
    if (!depth)
        return;
    one(depth - 1);
    other(depth - 1);
}

static __attribute__((noinline)) void one(int depth)
{
    if (depth) {
        one(depth - 1);
        other(depth - 1);
    }
    __asm__ volatile("");
}

static __attribute__((noinline)) void other(int depth)
{
    if (depth) {
        one(depth - 1);
        other(depth - 1);
    }
    __asm__ volatile("nop");
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        step(DEPTH);
    puts("done");
    return 0;
}

/*
 * many_contexts.c: a function of hundreds of branches runs in a few contexts, then in hundreds of
 * others, and each takes other ways through it.
 */
#include <stdio.h>

#define STEP(n)                                                                                    \
    if (seed >> (n) % 13 & 1)                                                                      \
        sum += seed % ((n) + 3);                                                                   \
    else                                                                                           \
        sum ^= seed + (n);                                                                         \
    seed = seed * 5 + (n);
#define STEPS_4(n)  STEP(n) STEP(n + 1) STEP(n + 2) STEP(n + 3)
#define STEPS_16(n) STEPS_4(n) STEPS_4(n + 4) STEPS_4(n + 8) STEPS_4(n + 12)

static __attribute__((noinline)) unsigned long descend(unsigned depth, unsigned seed)
{
    unsigned long sum = depth;
    STEPS_16(0)
    STEPS_16(16)
    STEPS_16(32)
    STEPS_16(48)
    STEPS_16(64)
    if (depth)
        sum += descend(depth - 1, seed + depth);
    STEPS_16(80)
    STEPS_16(96)
    STEPS_16(112)
    return sum;
}

int main(void)
{
    unsigned long sum = 0;
    for (unsigned i = 0; i < 40; i++)
        sum += descend(i < 20 ? 3 : i * 25, i * 7919);
    printf("%lu\n", sum);
    return 0;
}

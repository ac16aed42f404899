/*
 * Indirect calls that lead to one function from many contexts, so that they are foreseen, then to
 * others, and back.
 */
#include <stdio.h>

static volatile long sink;

__attribute__((noinline)) static long one(long x)
{
    return x + sink;
}

__attribute__((noinline)) static long two(long x)
{
    return 2 * x - sink;
}

__attribute__((noinline)) static long three(long x)
{
    for (int i = 0; i < 3; i++)
        sink += i;
    return x;
}

static long (*volatile callee)(long);

__attribute__((noinline)) static long deep(int depth, long x)
{
    x = callee(x);
    return depth ? deep(depth - 1, x) + 1 : x;
}

int main(void)
{
    long (*const turns[])(long) = {one, one, two, one, three, two, three, one};
    long x = 1;
    for (int round = 0; round < 40; round++) {
        callee = turns[round % 8];
        x = deep(round, x) % 1000003;
    }
    for (int round = 0; round < 1000; round++) {
        callee = round % 3 ? one : three;
        x = deep(20, x) % 1000003;
    }
    printf("%ld\n", x);
    return 0;
}

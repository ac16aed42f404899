/* chains.c: inlining as C has it; chains_too.c has a `helper` of its own. */
#include <stdio.h>
#include <stdlib.h>

int other(int x);

static inline int deepest(int x)
{
    return x * 7 % 11;
}

static int helper(int x)
{
    return deepest(x) + deepest(x + 1);
}

static int __attribute__((noinline)) often(int n)
{
    if (__builtin_expect(n > 1000, 0)) {
        fprintf(stderr, "too much: %d\n", n);
        abort();
    }
    return helper(n);
}

#ifndef __clang__
/* A function inside a function, as GNU C allows. */
int nested(int n)
{
    int add(int x)
    {
        return deepest(x) + n;
    }
    int (*volatile pointer)(int) = add;
    return add(3) + pointer(n);
}
#else
int nested(int n)
{
    return n;
}
#endif

/* So that `helper` is inlined, and has code of its own too. */
static int (*volatile pointer_to_helper)(int) = helper;

int main(int argc, char **argv)
{
    int sum = 0;
    (void)argv;
    for (int i = 0; i < argc; i++)
        sum += often(i) + helper(argc) + other(i) + nested(i) + pointer_to_helper(i);
    printf("%d\n", sum);
    return 0;
}

/* calls.c: almost nothing but calls: recursion, and qsort with its callbacks. */
#include <stdio.h>
#include <stdlib.h>

static unsigned long fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int compare(const void *a, const void *b)
{
    unsigned one = *(const unsigned *)a, other = *(const unsigned *)b;

    return (one > other) - (one < other);
}

int main(int argc, char **argv)
{
    unsigned turns = argc > 1 ? atoi(argv[1]) : 1;
    unsigned count = 200000, state = 1;
    unsigned *items = malloc(count * sizeof *items);
    unsigned long sum = 0;

    while (turns--) {
        sum += fib(27);
        for (unsigned i = 0; i < count; i++)
            items[i] = state = state * 1664525 + 1013904223;
        qsort(items, count, sizeof *items, compare);
        sum += items[count / 2];
    }
    printf("%lu\n", sum);
    free(items);
    return 0;
}

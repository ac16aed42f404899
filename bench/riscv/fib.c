/*
 * fib.c: the most calls for the least work.
 *
 *     fib N
 */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static long fib(long n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int count, char **arguments)
{
    printf("%ld\n", fib(count > 1 ? atol(arguments[1]) : 30));
    return 0;
}

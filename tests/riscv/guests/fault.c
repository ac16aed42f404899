/* Writes to address 16, three calls deep. */
#include <stdio.h>

static volatile long *volatile nowhere = (long *)16;

__attribute__((noinline)) static void innermost(void)
{
    *nowhere = 1;
}

__attribute__((noinline)) static void middle(void)
{
    innermost();
    nowhere = 0;
}

int main(void)
{
    puts("before");
    fflush(stdout);
    middle();
    puts("never");
    return 0;
}

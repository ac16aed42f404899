/* clocks.c: asks for the time, which the kernel's code in the program's memory answers. */
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

int main(void)
{
    struct timespec now;
    struct timeval day;
    for (int i = 0; i < 100; i++)
        if (clock_gettime(CLOCK_MONOTONIC, &now) || gettimeofday(&day, NULL))
            return 1;
    return puts("asked") < 0;
}

/* What --repeatable fixes: prints what machine it is on and what time it is. */
#include <cpuid.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

int main(void)
{
    unsigned a, b, c, d, low, high;
    struct timespec now, later;
    struct timeval day;
    unsigned char random[4];

    __cpuid(0, a, b, c, d);
    printf("leaves %u, vendor %.4s%.4s%.4s\n", a, (char *)&b, (char *)&d, (char *)&c);
    __cpuid_count(7, 0, a, b, c, d);
    printf("avx2 %u, avx512f %u\n", b >> 5 & 1, b >> 16 & 1);
    __cpuid(1, a, b, c, d);
    printf("rdrand %u\n", c >> 30 & 1);
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    printf("state %x %x\n", low, high);
    printf("vdso %d\n", getauxval(AT_SYSINFO_EHDR) != 0);
    clock_gettime(CLOCK_REALTIME, &now);
    gettimeofday(&day, NULL);
    printf("%ld %ld, %ld %ld, %ld\n", now.tv_sec, now.tv_nsec, day.tv_sec, day.tv_usec, time(NULL));
    unsigned long long ticks = __rdtsc(), more = __rdtsc();
    printf("ticks %llu %llu\n", ticks, more - ticks);
    clock_gettime(CLOCK_MONOTONIC, &now);
    usleep(2000);
    clock_gettime(CLOCK_MONOTONIC, &later);
    printf("slept %ld\n", later.tv_nsec - now.tv_nsec);
    printf("random %zd: %x %x\n", getrandom(random, 4, 0), random[0], random[3]);
    return 0;
}

/*
 * Two builds of one program, for a page of their difference: primes by trial division, and, built
 * with -DSIEVE, by a sieve. `digits` and `report` are the same in both.
 */
#include <stdio.h>
#include <stdlib.h>

#define LIMIT 30000

static unsigned char is_prime[LIMIT];

#ifdef SIEVE
__attribute__((noinline)) static void cross_out(int prime)
{
    for (int i = prime * prime; i < LIMIT; i += prime)
        is_prime[i] = 0;
}

__attribute__((noinline)) static void find_primes(void)
{
    for (int i = 2; i < LIMIT; i++)
        is_prime[i] = 1;
    for (int i = 2; i * i < LIMIT; i++)
        if (is_prime[i])
            cross_out(i);
}
#else
__attribute__((noinline)) static int divides_evenly(int number)
{
    for (int i = 2; i * i <= number; i++)
        if (number % i == 0)
            return 1;
    return 0;
}

__attribute__((noinline)) static void find_primes(void)
{
    for (int i = 2; i < LIMIT; i++)
        is_prime[i] = !divides_evenly(i);
}
#endif

__attribute__((noinline)) static int digits(int number)
{
    return number < 10 ? number : number % 10 + digits(number / 10);
}

__attribute__((noinline)) static int report(void)
{
    int count = 0, sum = 0;

    for (int i = 2; i < LIMIT; i++)
        if (is_prime[i]) {
            count++;
            sum += digits(i);
        }
    printf("%d primes below %d, their digits add up to %d\n", count, LIMIT, sum);
    return 0;
}

int main(void)
{
    find_primes();
    return report();
}

/*
 * Threads of the C library: the path of each begins with the function that starts it.
 *
 * build: dynamic -pthread
 * repeatable: no
 * paths:
 *     start_thread;worker;leaf
 *     start_thread;other;leaf
 *     main;leaf
 * never:
 *     main;worker
 *     main;other
 *     worker;worker
 *     worker;main
 *     pthread_create;worker
 *     pthread_create@@GLIBC_2.34;worker
 *     other;worker
 */
#include <pthread.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static __thread volatile unsigned long sink;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void *worker(void *times)
{
    for (long i = 0; i < (long)times; i++)
        leaf();
    return (void *)sink;
}

NOINLINE void *other(void *unused)
{
    leaf();
    sink++;
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    unsigned long sum = 0;
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i == 3 ? other : worker, (void *)(i * 100));
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (unsigned long)result;
    }
    leaf();
    printf("%lu\n", sum); /* 0 + 100 + 200 + 300 */
    return 0;
}

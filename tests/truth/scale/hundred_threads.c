/*
 * A hundred threads at once: nothing is lost, nobody's calls are another's.
 *
 * build: dynamic -pthread
 * repeatable: no
 * paths:
 *     start_thread;worker;middle;leaf
 * never:
 *     leaf;leaf
 *     worker;worker
 *     middle;middle
 *     leaf;worker
 *     main;worker
 */
#include <pthread.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

enum { THREADS = 100, TURNS = 1000 };

static __thread volatile unsigned long sink;
static pthread_barrier_t all_there;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void middle(void)
{
    leaf();
    sink++;
}

NOINLINE void *worker(void *unused)
{
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < TURNS; i++)
        middle();
    (void)unused;
    return (void *)sink;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned long sum = 0;
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (unsigned long)result;
    }
    printf("%lu\n", sum);
    return 0;
}

/* Threads that share work, wait for each other in every way the C library has, and end. The output
 * does not depend on who goes first. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t slots;
static long total;
static atomic_long rounds;
static int go, first_times;
static __thread long own;

static void first(void)
{
    first_times++;
}

__attribute__((noipa)) static long work(long n)
{
    volatile long sum = 0;

    for (long i = 0; i < n; i++)
        sum += i;
    return sum;
}

static void *worker(void *argument)
{
    own = (long)argument;
    pthread_once(&once, first);
    pthread_mutex_lock(&lock);
    while (!go)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 300; i++) {
        long more = work(own * 10);
        pthread_mutex_lock(&lock);
        total += more;
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&rounds, 1);
        pthread_rwlock_rdlock(&shared);
        pthread_rwlock_unlock(&shared);
    }
    sem_wait(&slots);
    pthread_barrier_wait(&barrier);
    return (void *)(own * own);
}

static void *idle(void *argument)
{
    (void)argument;
    for (;;)
        pause();
}

int main(void)
{
    pthread_t threads[WORKERS], idler;
    long squares = 0;

    pthread_barrier_init(&barrier, NULL, WORKERS + 1);
    sem_init(&slots, 0, 0);
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    pthread_create(&idler, NULL, idle, NULL);
    usleep(1000);
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        sem_post(&slots);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < WORKERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        squares += (long)result;
    }
    pthread_cancel(idler);
    void *result;
    pthread_join(idler, &result);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 1000000;
    if (soon.tv_nsec >= 1000000000) {
        soon.tv_nsec -= 1000000000;
        soon.tv_sec++;
    }
    int late = sem_timedwait(&slots, &soon) && errno == ETIMEDOUT;
    printf("%ld %ld %ld %d %d %d\n", total, atomic_load(&rounds), squares, first_times,
           result == PTHREAD_CANCELED, late);
    return 5;
}

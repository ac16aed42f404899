/*
 * timed_waits.c: threads that wait with a time limit far off, and must be woken before it: by a signal,
 * by another process, by a call that wakes some of those that wait or moves them to another futex, or
 * when many wait on one; and threads that sleep while the process is stopped. Prints the same every
 * time, alone or under an engine; what is not woken ends by an alarm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FAR_SECONDS = 1000, SLEEPERS = 4, CROWD = 70 };

static int futex_word, other_word;
static atomic_int ready;
static volatile sig_atomic_t handled;
static sem_t *shared;

static void on_signal(int number)
{
    (void)number;
    handled++;
}

static struct timespec far_off(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FAR_SECONDS;
    return until;
}

static void pause_for(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

static struct timespec limit = {.tv_sec = FAR_SECONDS};

static void *wait_on_word(void *has_limit)
{
    ready++;
    syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, has_limit ? &limit : NULL);
    return NULL;
}

static void *wait_for_post(void *unused)
{
    while (sem_wait(shared + 1))
        ;
    return unused;
}

static pid_t after_a_while(void (*act)(pid_t parent))
{
    pid_t parent = getpid(), child = fork();
    if (child)
        return child;
    for (int i = 0; i < 3; i++) {
        pause_for(100000000);
        act(parent);
    }
    _exit(0);
}

static void interrupt(pid_t parent)
{
    kill(parent, SIGUSR1);
}

static void post(pid_t parent)
{
    (void)parent;
    sem_post(shared);
}

/* The main thread sleeps, and a signal ends that; what is left is less. */
static void interrupted(void)
{
    struct timespec span = {.tv_sec = FAR_SECONDS}, rest, until = far_off();
    pid_t child = after_a_while(interrupt);

    int result = nanosleep(&span, &rest);
    printf("nanosleep %d %d, rest %d\n", result, errno == EINTR, rest.tv_sec <= FAR_SECONDS);
    printf("clock_nanosleep %d\n",
           clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR);
    printf("sem_timedwait %d %d\n", sem_timedwait(shared, &until), errno == EINTR);
    waitpid(child, NULL, 0);
    printf("handled %d\n", handled);
}

static void posted(void)
{
    struct timespec until = far_off();
    pid_t child = after_a_while(post);
    for (int i = 0; i < 3; i++)
        printf("sem_timedwait %d\n", sem_timedwait(shared, &until));
    waitpid(child, NULL, 0);
}

/* Half of them have a limit. */
static void woken_by(int operation, long count, int *to, unsigned last)
{
    pthread_t threads[SLEEPERS];
    for (long i = 0; i < SLEEPERS; i++)
        pthread_create(&threads[i], NULL, wait_on_word, (void *)(i & 1));
    while (ready < SLEEPERS)
        sched_yield();
    pause_for(10000000);
    printf("%ld woken or moved\n",
           syscall(SYS_futex, &futex_word, operation, count, (void *)SLEEPERS, to, last));
    for (int i = SLEEPERS; i--;) {
        pthread_join(threads[i], NULL);
        if (to) /* those without a limit are there; the others wait for it */
            syscall(SYS_futex, to, FUTEX_WAKE_PRIVATE, SLEEPERS);
    }
    puts("all are back");
}

static void by_bits(void)
{
    woken_by(FUTEX_WAKE_BITSET_PRIVATE, SLEEPERS, NULL, 1u << 31 | 1u << 20);
}

static void moved(void)
{
    limit = (struct timespec){.tv_nsec = 300000000};
    woken_by(FUTEX_CMP_REQUEUE_PRIVATE, 1, &other_word, 0);
}

static void *wait_a_little(void *number)
{
    struct timespec span = {.tv_nsec = 20000000 + 50000 * (long)number};
    long over = 0;
    for (int i = 0; i < 3; i++)
        while (syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &span) == 0)
            over++;
    return (void *)(long)(over < 1000);
}

static void crowd(void)
{
    pthread_t threads[CROWD];
    void *few;
    for (long i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, wait_a_little, (void *)i);
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], &few);
        if (!few)
            puts("woken again and again");
    }
    puts("all are back");
}

static void *nap_again(void *number)
{
    while (!handled)
        pause_for(200000 + 77000 * (long)number);
    return NULL;
}

/* The whole process, again and again, while its threads sleep. */
static void stopped(void)
{
    pthread_t threads[SLEEPERS];
    pid_t parent = getpid(), child = fork();
    if (!child) {
        for (int i = 0; i < 500; i++) {
            kill(parent, SIGSTOP);
            pause_for(300000);
            kill(parent, SIGCONT);
            pause_for(1000000);
        }
        kill(parent, SIGUSR1);
        _exit(0);
    }
    for (long i = 0; i < SLEEPERS; i++)
        pthread_create(&threads[i], NULL, nap_again, (void *)i);
    for (int i = 0; i < SLEEPERS; i++)
        pthread_join(threads[i], NULL);
    waitpid(child, NULL, 0);
    puts("all are back");
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"interrupted", interrupted},
                 {"posted", posted},
                 {"by_bits", by_bits},
                 {"moved", moved},
                 {"crowd", crowd},
                 {"stopped", stopped}};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t one;
    pthread_t waiter;

    alarm(60);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    sem_init(shared + 1, 1, 0);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    pthread_create(&waiter, NULL, wait_for_post, NULL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    for (size_t i = 0; count > 1 && i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(parts[i].name, arguments[1]))
            parts[i].run();
    sem_post(shared + 1);
    pthread_join(waiter, NULL);
    return 0;
}

/*
 * Ways in which processes with threads end, and what may happen at the same moment:
 *
 *     ends WAY MICROSECONDS      how long the others go on before the end begins
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6 };

extern char **environ;
static volatile long sink;
static pthread_key_t key;
static long pause_us;

/* Called again for what it sets. */
static void forget(void *value)
{
    sink++;
    if ((long)value < 3)
        pthread_setspecific(key, (char *)value + 1);
}

static void *be_short(void *unused)
{
    pthread_setspecific(key, (void *)1);
    for (int i = 0; i < 100; i++)
        sink += i;
    return unused;
}

static void *spin(void *unused)
{
    for (;;)
        sink++;
    return unused;
}

static void *spin_until_cancelled(void *asynchronously)
{
    if (asynchronously)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        sink++;
        if (!asynchronously && !(sink & 0xffff))
            pthread_testcancel();
    }
    return NULL;
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void *make_threads(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, be_short, NULL);
        if (i & 1)
            pthread_detach(thread);
        else
            pthread_join(thread, NULL);
    }
    return unused;
}

static void check(pid_t pid, int status)
{
    int got;
    if (waitpid(pid, &got, 0) != pid || !WIFEXITED(got) || WEXITSTATUS(got) != status)
        exit(50);
}

static void *make_processes(void *unused)
{
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (!pid) {
            for (int j = 0; j < 1000; j++)
                sink += j;
            _exit(i);
        }
        check(pid, i);
    }
    return unused;
}

static void *spawn_programs(void *unused)
{
    char *arguments[] = {"/bin/true", NULL};
    for (int i = 0; i < 3; i++) {
        pid_t pid;
        if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ))
            exit(51);
        check(pid, 0);
    }
    return unused;
}

static void *end_process(void *unused)
{
    usleep(pause_us);
    exit(7);
    return unused;
}

static void *be_another(void *unused)
{
    char *arguments[] = {"/bin/sh", "-c", "exit 9", NULL};
    usleep(pause_us);
    execve(arguments[0], arguments, environ);
    _exit(52);
    return unused;
}

static void *leave(void *directly)
{
    if (directly)
        syscall(SYS_exit, 0);
    pthread_exit(NULL);
}

static void on_signal(int number)
{
    sink += number;
}

static pthread_t threads[THREADS];

static void start(int first, int end, void *(*work)(void *))
{
    for (int i = first; i < end; i++)
        pthread_create(&threads[i], NULL, work, NULL);
}

static void join(int first, int end)
{
    for (int i = first; i < end; i++)
        pthread_join(threads[i], NULL);
}

static int rounds(void)
{
    for (int i = 0; i < 10; i++) {
        start(0, THREADS, be_short);
        join(0, THREADS);
    }
    start(0, 3, leave);
    for (int i = 3; i < THREADS; i++)
        pthread_create(&threads[i], NULL, leave, &key);
    join(0, THREADS);
    return 3;
}

static int while_spinning(void)
{
    start(0, THREADS, spin);
    usleep(pause_us);
    exit(4);
}

static int forks(void)
{
    start(0, THREADS, make_processes);
    join(0, THREADS);
    return 5;
}

static int spawns(void)
{
    start(0, THREADS, spawn_programs);
    join(0, THREADS);
    return 6;
}

static int cancelled(void)
{
    start(0, 2, wait_for_ever);
    start(2, 4, spin_until_cancelled);
    for (int i = 4; i < THREADS; i++)
        pthread_create(&threads[i], NULL, spin_until_cancelled, &key);
    usleep(pause_us);
    for (int i = 0; i < THREADS; i++)
        pthread_cancel(threads[i]);
    join(0, THREADS);
    return 8;
}

static int another_program(void)
{
    start(0, 3, spin);
    start(3, 4, be_another);
    wait_for_ever(NULL);
    return 1;
}

static int signalled(void)
{
    signal(SIGUSR1, on_signal);
    start(0, 3, spin);
    start(3, THREADS, wait_for_ever);
    for (int i = 0; i < 200; i++)
        pthread_kill(threads[i % THREADS], SIGUSR1);
    _exit(10);
}

static int while_threads_come_and_go(void)
{
    start(0, THREADS, make_threads);
    usleep(pause_us);
    return 11;
}

static int main_thread_first(void)
{
    start(0, THREADS, make_threads);
    pthread_exit(NULL);
}

static int twice(void)
{
    start(0, 2, end_process);
    start(2, 4, make_threads);
    end_process(NULL);
    return 1;
}

static int while_forking(void)
{
    start(0, 2, make_processes);
    start(2, 4, make_threads);
    usleep(pause_us);
    exit(12);
}

static int while_spawning(void)
{
    start(0, 2, spawn_programs);
    start(2, 4, make_threads);
    usleep(pause_us);
    exit(13);
}

static int aborted(void)
{
    start(0, THREADS, spin);
    usleep(pause_us);
    abort();
}

static int killed(void)
{
    start(0, THREADS, spin);
    usleep(pause_us);
    kill(getpid(), SIGTERM);
    wait_for_ever(NULL);
    return 1;
}

static int faulted(void)
{
    start(0, THREADS, spin);
    usleep(pause_us);
    *(volatile int *)8 = 1;
    return 1;
}

static const struct {
    const char *name;
    int (*run)(void);
} ways[] = {
    {"rounds", rounds},
    {"while_spinning", while_spinning},
    {"forks", forks},
    {"spawns", spawns},
    {"cancelled", cancelled},
    {"another_program", another_program},
    {"signalled", signalled},
    {"while_threads_come_and_go", while_threads_come_and_go},
    {"main_thread_first", main_thread_first},
    {"twice", twice},
    {"while_forking", while_forking},
    {"while_spawning", while_spawning},
    {"aborted", aborted},
    {"killed", killed},
    {"faulted", faulted},
};

int main(int count, char **arguments)
{
    if (count != 3)
        return 1;
    pause_us = atol(arguments[2]);
    pthread_key_create(&key, forget);
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].name, arguments[1]))
            return ways[i].run();
    return 1;
}

"""`record --repeatable`: time and chance are the same in every run and under both engines; and
so is the order of threads that wait for each other, under the native engine also of those that wait
until some time. So the same output, and the same profile."""
import subprocess

import pytest

from support import TRUEFLAME
from test_record import assert_same_profile, compiled

# Who takes the lock, and who writes to the pipe, is what is printed. Alone, no two runs are alike.
ORDER = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { WORKERS = 6, TURNS = 200 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static char order[20000];
static int length, there, ends[2];

static void note(char letter)
{
    pthread_mutex_lock(&lock);
    order[length++] = letter;
    pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
    long number = (long)argument;
    volatile long sum = 0;

    pthread_mutex_lock(&lock);
    there++;
    pthread_cond_broadcast(&all_there);
    while (there < WORKERS)
        pthread_cond_wait(&all_there, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < TURNS; i++) {
        note('a' + number);
        for (int k = 0; k < (number * 37 + i * 13) % 500; k++)
            sum += k;
        char letter = 'A' + number;
        if (i % 7 == number)
            write(ends[1], &letter, 1);
    }
    return NULL;
}

static void *read_all(void *unused)
{
    char letter;

    while (read(ends[0], &letter, 1) == 1 && letter != '.')
        note(letter);
    return unused;
}

int main(void)
{
    pthread_t reader, workers[WORKERS];

    pipe(ends);
    pthread_create(&reader, NULL, read_all, NULL);
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    write(ends[1], ".", 1);
    pthread_join(reader, NULL);
    puts(order);
    return 0;
}
"""

# Threads that never wake, forks from threads with threads of their own, an exit from a thread
# after the first one has ended.
LIVES = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *rest(void *unused)
{
    pause();
    return unused;
}

static void *fork_one(void *unused)
{
    pthread_t thread;
    int status;
    pid_t child = fork();

    if (!child) {
        pthread_create(&thread, NULL, rest, NULL);
        _exit(3);
    }
    waitpid(child, &status, 0);
    return (void *)(long)WEXITSTATUS(status);
}

static void *leave(void *unused)
{
    exit(5);
}

int main(void)
{
    pthread_t thread;
    void *status;

    for (int i = 0; i < 20; i++)
        pthread_create(&thread, NULL, rest, NULL);
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, NULL, fork_one, NULL);
        pthread_join(thread, &status);
        if ((long)status != 3)
            return 1;
    }
    pthread_create(&thread, NULL, leave, NULL);
    pthread_exit(NULL);
}
"""


# Everything that says what time it is, waits until a time, or gives random numbers.
CHANCE = r"""
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static void show(int clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    printf("clock %d: %ld %ld\n", clock, now.tv_sec, now.tv_nsec);
}

int main(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    unsigned char bytes[8];
    struct timespec until;
    struct timeval day;
    unsigned core;

    for (int clock = 0; clock < 8; clock++)
        show(clock);
    gettimeofday(&day, NULL);
    printf("day %ld %ld\n", day.tv_sec, day.tv_usec);
    printf("time %ld\n", time(NULL));
    printf("ticks %llu\n", (unsigned long long)__rdtsc());
    printf("ticks %llu\n", (unsigned long long)__rdtscp(&core));
    usleep(3000);
    show(CLOCK_MONOTONIC);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 5000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    show(CLOCK_MONOTONIC);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 7000000;
    pthread_mutex_lock(&lock);
    printf("timed out %d\n", pthread_cond_timedwait(&never, &lock, &until) == ETIMEDOUT);
    show(CLOCK_MONOTONIC);
    getrandom(bytes, sizeof bytes, 0);
    for (int i = 0; i < 8; i++)
        printf("%x%c", bytes[i], i < 7 ? ' ' : '\n');
    return 0;
}
"""

# What loops of events do: each call waits until the clock is to be at some time, and is made again as
# long as it is not.
EVENTS = r"""
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPAN_MILLISECONDS = 20 };
static const struct timespec span = {.tv_nsec = SPAN_MILLISECONDS * 1000000};
static int epoll;

static void by_poll(void) { poll(NULL, 0, SPAN_MILLISECONDS); }
static void by_ppoll(void) { ppoll(NULL, 0, &span, NULL); }
static void by_select(void)
{
    syscall(SYS_select, 0, NULL, NULL, NULL, &(struct timeval){.tv_usec = SPAN_MILLISECONDS * 1000});
}
static void by_pselect(void) { pselect(0, NULL, NULL, NULL, &span, NULL); }
static void by_epoll(void) { epoll_wait(epoll, &(struct epoll_event){0}, 1, SPAN_MILLISECONDS); }
static void by_signal(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigtimedwait(&none, NULL, &span);
}

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(void)
{
    void (*const ways[])(void) = {by_poll, by_ppoll, by_select, by_pselect, by_epoll, by_signal};
    epoll = epoll_create1(0);
    for (int i = 0; i < 6; i++) {
        long end = now() + 3 * SPAN_MILLISECONDS * 1000000l;
        int count = 0;
        for (; now() < end && count < 50; count++)
            ways[i]();
        printf("%d\n", count);
    }
    return 0;
}
"""

# Who waits until some time, and for how long, against one that works and one that sleeps. Alone, no two
# runs are alike.
TIMED = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { WAITERS = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, tick = PTHREAD_COND_INITIALIZER;
static volatile long work;
static int done;

static void note(const char *what, long number)
{
    printf("%s %ld at %ld\n", what, number, work / 1000);
}

static void *wait_for_times(void *argument)
{
    long number = (long)argument;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < 6; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 700000 * (number + 1);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        int error = pthread_cond_timedwait(i % 2 ? &never : &tick, &lock, &until);
        note(error == ETIMEDOUT ? "over" : "woken", number);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *sleep_and_tick(void *unused)
{
    for (int i = 0; i < 8; i++) {
        if (i % 2)
            select(0, NULL, NULL, NULL, &(struct timeval){.tv_usec = 900});
        else
            usleep(600);
        pthread_mutex_lock(&lock);
        note("tick", i);
        pthread_cond_signal(&tick);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[WAITERS + 1];

    for (long i = 0; i < WAITERS; i++)
        pthread_create(&threads[i], NULL, wait_for_times, (void *)i);
    pthread_create(&threads[WAITERS], NULL, sleep_and_tick, NULL);
    for (int over = 0; !over;) {
        for (int i = 0; i < 20000; i++)
            work++;
        pthread_mutex_lock(&lock);
        over = done;
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i <= WAITERS; i++)
        pthread_join(threads[i], NULL);
    note("end", 0);
    return 0;
}
"""


def recorded(program, profile, *options, engine="valgrind"):
    done = subprocess.run([TRUEFLAME, "record", f"--engine={engine}", "--repeatable", *options,
                           "-o", profile, program], capture_output=True, timeout=120)
    return done.returncode, done.stdout


def test_time_and_chance_are_the_same(tmp_path):
    program = compiled(tmp_path, "chance", CHANCE)
    runs = [recorded(program, tmp_path / f"{engine}.{i}.flame", engine=engine)
            for i in range(2) for engine in ("valgrind", "native")]
    assert runs[0][0] == 0
    assert runs[0] == runs[1] == runs[2] == runs[3]
    assert b"clock 0: 1577836800 " in runs[0][1] and b"timed out 1\n" in runs[0][1]
    for engine in ("valgrind", "native"):
        assert_same_profile(tmp_path / f"{engine}.0.flame", tmp_path / f"{engine}.1.flame")


@pytest.mark.parametrize("engine", ["valgrind", "native"])
def test_what_is_waited_in_vain_has_passed(tmp_path, engine):
    program = compiled(tmp_path, "events", EVENTS)
    assert recorded(program, tmp_path / "events.flame", engine=engine) == (0, b"3\n" * 6)


@pytest.mark.parametrize("detail", ["function", "line"])
@pytest.mark.parametrize("source, status", [(ORDER, 0), (LIVES, 5)], ids=["order", "lives"])
def test_threads_take_turns_the_same_way(tmp_path, source, status, detail):
    program = compiled(tmp_path, "threads", source)
    runs = [recorded(program, tmp_path / f"{i}.flame", f"--detail={detail}") for i in range(3)]
    assert runs[0][0] == status
    assert runs[0] == runs[1] == runs[2]
    assert_same_profile(tmp_path / "0.flame", tmp_path / "1.flame")
    assert_same_profile(tmp_path / "0.flame", tmp_path / "2.flame")


@pytest.mark.parametrize("detail", ["function", "line"])
def test_times_are_over_in_one_order(tmp_path, detail):
    program = compiled(tmp_path, "timed", TIMED)
    runs = [recorded(program, tmp_path / f"{i}.flame", f"--detail={detail}", engine="native")
            for i in range(4)]
    assert runs[0][0] == 0
    assert runs[0] == runs[1] == runs[2] == runs[3]
    assert b"over 0 at" in runs[0][1] and runs[0][1].count(b"tick ") == 8
    for i in range(1, 4):
        assert_same_profile(tmp_path / "0.flame", tmp_path / f"{i}.flame")

"""`record --repeatable` with threads that wait for each other: the same order in every run, so the
same output and the same profile. The reference engine, which runs one thread at a time."""
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


def recorded(program, profile, *options):
    done = subprocess.run([TRUEFLAME, "record", "--engine=valgrind", "--repeatable", *options,
                           "-o", profile, program], capture_output=True, timeout=120)
    return done.returncode, done.stdout


@pytest.mark.parametrize("detail", ["function", "line"])
@pytest.mark.parametrize("source, status", [(ORDER, 0), (LIVES, 5)], ids=["order", "lives"])
def test_threads_take_turns_the_same_way(tmp_path, source, status, detail):
    program = compiled(tmp_path, "threads", source)
    runs = [recorded(program, tmp_path / f"{i}.flame", f"--detail={detail}") for i in range(3)]
    assert runs[0][0] == status
    assert runs[0] == runs[1] == runs[2]
    assert_same_profile(tmp_path / "0.flame", tmp_path / "1.flame")
    assert_same_profile(tmp_path / "0.flame", tmp_path / "2.flame")

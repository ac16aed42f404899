/*
 * ended_spawns.c [threads]: children of vfork that end by a signal, and some that only count. Their maker
 * goes on.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 60 };

static volatile int over;

static void *wait_for_end(void *unused)
{
    while (!over)
        usleep(1000);
    return unused;
}

static void end(int way)
{
    volatile long sum = 0;
    if (way == 0)
        *(volatile int *)8 = 1;
    if (way == 1)
        raise(SIGABRT);
    for (int i = 0; i < 2000; i++)
        sum += i;
    _exit(3);
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int ended[3] = {0};
    (void)arguments;
    if (count > 1)
        pthread_create(&thread, NULL, wait_for_end, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = vfork();
        if (!child)
            end(i % 3);
        waitpid(child, &status, 0);
        ended[0] += WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
        ended[1] += WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        ended[2] += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    over = 1;
    if (count > 1)
        pthread_join(thread, NULL);
    printf("%d %d %d\n", ended[0], ended[1], ended[2]);
    return 0;
}

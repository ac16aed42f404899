/*
 * forks_while_mapping.c: other threads map memory and set handlers all the while; each child that is
 * forked meanwhile does so too. One that does not get to its end is killed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 200, PAGE = 4096 };

static volatile int over;
static volatile pid_t child;

static void map_once(void)
{
    munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

static void *map(void *unused)
{
    while (!over)
        map_once();
    return unused;
}

static void *handle(void *unused)
{
    while (!over)
        signal(SIGUSR1, SIG_IGN);
    return unused;
}

static void end_child(int number)
{
    (void)number;
    kill(child, SIGKILL);
}

static int make_child(void)
{
    int status;
    child = fork();
    if (!child) {
        map_once();
        signal(SIGUSR1, SIG_IGN);
        _exit(1);
    }
    alarm(10);
    waitpid(child, &status, 0);
    alarm(0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

int main(void)
{
    void *(*works[])(void *) = {map, map, handle};
    pthread_t threads[3];
    int ended = 0;
    signal(SIGALRM, end_child);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, works[i], NULL);
    for (int i = 0; i < CHILDREN && ended == i; i++)
        ended += make_child();
    over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d children\n", ended);
    return 0;
}

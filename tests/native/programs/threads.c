/*
 * threads.c: threads made and ended many times, all counting; children by fork, from the main
 * thread and from others; children by posix_spawn and through a shell. Prints the same every time.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *work(void *argument)
{
    long sum = 0;
    for (long i = 0; i < 20000; i++)
        sum += i ^ (long)argument;
    pthread_mutex_lock(&mutex);
    total += sum;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *fork_one(void *argument)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit((int)(long)argument);
    waitpid(child, &status, 0);
    return (void *)(long)WEXITSTATUS(status);
}

int main(void)
{
    pthread_t threads[8];
    void *result;
    for (int round = 0; round < 100; round++) {
        for (long i = 0; i < 8; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)i))
                return 2;
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%ld\n", total);
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, fork_one, (void *)(i + 1));
    long statuses = 0;
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &result);
        statuses += (long)result;
    }
    printf("%ld\n", statuses);
    fflush(stdout);
    pid_t child;
    int status;
    char *arguments[] = {"echo", "spawned", NULL}, *nothing[] = {"none", NULL};
    if (posix_spawnp(&child, "echo", NULL, NULL, arguments, environ))
        return 3;
    waitpid(child, &status, 0);
    printf("no such program: %d\n", posix_spawn(&child, "/no/such", NULL, NULL, nothing, environ));
    fflush(stdout);
    printf("shell %d\n", WEXITSTATUS(system("echo shell; exit 3")));
    return 0;
}

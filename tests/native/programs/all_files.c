/* Threads hand a number on to each other in a circle, in a process that can open no more files. Then it
 * forks. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 5
#define ROUNDS  200

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned number;

static void *hand_on(void *argument)
{
    unsigned own = (unsigned long)argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        while (number % THREADS != own)
            pthread_cond_wait(&changed, &mutex);
        number++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct rlimit limit = {64, 4096};
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    int error = errno;
    for (unsigned long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, hand_on, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    getrlimit(RLIMIT_NOFILE, &limit);
    int status = 0;
    pid_t child = fork();
    if (!child)
        _exit(number % 99);
    waitpid(child, &status, 0);
    printf("%u %d %d %d\n", number, error == EMFILE, (int)limit.rlim_cur, WEXITSTATUS(status));
    return 0;
}

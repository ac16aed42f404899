/* Calls that wait until another thread has done something: opened the other end of a FIFO, given up
 * a lock, written what is passed on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/trueflame-guest-XXXXXX", fifo[64], locked[64];
static int first[2], second[2];

static void *write_fifo(void *argument)
{
    int file = open(fifo, O_WRONLY);

    (void)argument;
    usleep(1000);
    return (void *)(long)(write(file, "through", 7) + close(file));
}

static void *read_fifo(void *text)
{
    int file = open(fifo, O_RDONLY);

    return (void *)(long)(read(file, text, 15) + close(file));
}

static void *lock_file(void *argument)
{
    int file = open(locked, O_RDWR);
    int failed = flock(file, LOCK_EX);

    (void)argument;
    printf("locked %d\n", failed);
    return (void *)(long)close(file);
}

static void *lock_region(void *argument)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file = open(locked, O_RDWR);
    int failed = fcntl(file, F_OFD_SETLKW, &all);

    (void)argument;
    printf("locked %d\n", failed);
    return (void *)(long)close(file);
}

static void *write_pipe(void *argument)
{
    (void)argument;
    usleep(1000);
    return (void *)(long)write(first[1], "piped", 5);
}

static long join(pthread_t thread)
{
    void *result;

    pthread_join(thread, &result);
    return (long)result;
}

static long run(void *(*function)(void *), void *argument, pthread_t *thread)
{
    return pthread_create(thread, NULL, function, argument);
}

int main(void)
{
    pthread_t thread;
    char text[16] = "";

    if (!mkdtemp(folder) || pipe(first) || pipe(second))
        return 1;
    sprintf(fifo, "%s/fifo", folder);
    sprintf(locked, "%s/locked", folder);
    mkfifo(fifo, 0600);

    run(write_fifo, NULL, &thread);
    int file = open(fifo, O_RDONLY);
    long size = read(file, text, sizeof text - 1);
    printf("read %ld %s, flags %d, %ld\n", size, text, fcntl(file, F_GETFL) & O_NONBLOCK,
           join(thread));
    close(file);

    memset(text, 0, sizeof text);
    run(read_fifo, text, &thread);
    file = open(fifo, O_WRONLY);
    size = write(file, "back", 4);
    close(file);
    printf("written %ld %ld %s\n", size, join(thread), text);

    file = open(locked, O_RDWR | O_CREAT, 0600);
    flock(file, LOCK_EX);
    run(lock_file, NULL, &thread);
    usleep(2000);
    printf("unlock\n");
    flock(file, LOCK_UN);
    join(thread);

    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(file, F_OFD_SETLK, &all);
    run(lock_region, NULL, &thread);
    usleep(2000);
    printf("unlock\n");
    all.l_type = F_UNLCK;
    fcntl(file, F_OFD_SETLK, &all);
    join(thread);

    run(write_pipe, NULL, &thread);
    printf("splice %zd\n", splice(first[0], NULL, second[1], NULL, 5, 0));
    join(thread);
    memset(text, 0, sizeof text);
    size = read(second[0], text, sizeof text - 1);
    printf("%ld %s\n", size, text);

    run(write_pipe, NULL, &thread);
    printf("tee %zd\n", tee(first[0], second[1], 5, 0));
    join(thread);

    unlink(fifo);
    unlink(locked);
    return rmdir(folder);
}

/* Threads that wait for files, time and signals while others go on; what they read and write goes
 * through pipes and sockets between them. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 300000 };

static int pipe_ends[2], event, sockets[2];
static volatile int handled;

/* More than a pipe holds: writer and reader have to take turns. */
static void *write_much(void *argument)
{
    char *bytes = calloc(BYTES, 1);

    for (int i = 0; i < BYTES; i++)
        bytes[i] = (char)i;
    ssize_t done = write(pipe_ends[1], bytes, BYTES);
    close(pipe_ends[1]);
    free(bytes);
    (void)argument;
    return (void *)done;
}

static void *wake_up(void *argument)
{
    uint64_t one = 1;

    (void)argument;
    usleep(2000);
    return (void *)(long)write(event, &one, sizeof one);
}

static void *answer(void *argument)
{
    char text[16] = "";
    struct iovec vector = {text, sizeof text};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

    (void)argument;
    recvmsg(sockets[1], &message, 0);
    text[0] = 'P';
    return (void *)(long)send(sockets[1], text, 4, 0);
}

static void handle(int number)
{
    handled += number == SIGUSR1;
}

static void *interrupt(void *main_thread)
{
    usleep(2000);
    pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
    return NULL;
}

static long join(pthread_t thread)
{
    void *result;

    pthread_join(thread, &result);
    return (long)result;
}

int main(void)
{
    pthread_t thread, self = pthread_self();
    char bytes[1000];
    long sum = 0, total = 0;

    if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return 1;
    pthread_create(&thread, NULL, write_much, NULL);
    for (ssize_t got; (got = read(pipe_ends[0], bytes, sizeof bytes)) > 0; total += got)
        for (ssize_t i = 0; i < got; i++)
            sum += bytes[i];
    printf("pipe %ld %ld %ld\n", total, sum, join(thread));

    event = eventfd(0, 0);
    struct pollfd file = {.fd = event, .events = POLLIN};
    pthread_create(&thread, NULL, wake_up, NULL);
    int ready = poll(&file, 1, -1);
    uint64_t value = 0;
    sum = read(event, &value, sizeof value);
    printf("poll %d %ld %d %ld\n", ready, sum, (int)value, join(thread));
    printf("poll %d\n", poll(&file, 1, 3));

    fd_set set;
    FD_ZERO(&set);
    FD_SET(event, &set);
    pthread_create(&thread, NULL, wake_up, NULL);
    ready = select(event + 1, &set, NULL, NULL, NULL);
    printf("select %d %d %ld\n", ready, !!FD_ISSET(event, &set), join(thread));
    struct timeval moment = {.tv_usec = 2000};
    FD_CLR(event, &set);
    FD_SET(sockets[0], &set);
    printf("select %d\n", select(sockets[0] + 1, &set, NULL, NULL, &moment));

    int many = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = 0x123456789abcull}, got;
    epoll_ctl(many, EPOLL_CTL_ADD, event, &wanted);
    ready = epoll_wait(many, &got, 1, -1);
    printf("epoll %d %llx %d\n", ready, (unsigned long long)got.data.u64, got.events == EPOLLIN);

    pthread_create(&thread, NULL, answer, NULL);
    if (send(sockets[0], "ping", 4, 0) != 4)
        return 1;
    memset(bytes, 0, sizeof bytes);
    ssize_t length = recv(sockets[0], bytes, sizeof bytes, 0);
    printf("socket %zd %s %ld\n", length, bytes, join(thread));

    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timerfd_settime(timer, 0, &soon, NULL);
    sum = read(timer, &value, sizeof value);
    printf("timer %ld %d\n", sum, (int)value);

    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, interrupt, &self);
    length = read(sockets[0], bytes, sizeof bytes);
    printf("interrupted %zd %d %d\n", length, errno == EINTR, handled);
    pthread_join(thread, NULL);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_create(&thread, NULL, interrupt, &self);
    int number = 0;
    sigwait(&signals, &number);
    printf("waited %d %d\n", number == SIGUSR1, handled);
    pthread_join(thread, NULL);
    return 0;
}

/*
 * waiting.c: signals that are blocked but while the program waits for them, as servers do: with
 * sigsuspend, ppoll, pselect and epoll_pwait; pending before the wait, or sent during it; two at
 * once; one whose handler leaves by a jump. The mask is what it was after each. Prints the same every
 * time, alone or under an engine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t seen[NSIG], order, first, blocked_inside;
static sigjmp_buf jump;
static sigset_t all, none;
static int epoll;

static void on_signal(int number)
{
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    blocked_inside += sigismember(&now, SIGUSR1) && sigismember(&now, SIGUSR2);
    seen[number]++;
    if (!order++)
        first = number;
}

static void on_quit(int number)
{
    seen[number]++;
    siglongjmp(jump, 1);
}

static int wait_suspended(void)
{
    return sigsuspend(&none);
}

static int wait_polling(void)
{
    return ppoll(NULL, 0, NULL, &none);
}

static int wait_selecting(void)
{
    return pselect(0, NULL, NULL, NULL, NULL, &none);
}

static int wait_epolling(void)
{
    struct epoll_event event;
    return epoll_pwait(epoll, &event, 1, -1, &none);
}

static void check(const char *what, int (*wait_for)(void))
{
    sigset_t now;
    pid_t child;

    raise(SIGUSR1);
    int result = wait_for();
    printf("%s pending: %d %d, seen %d\n", what, result, errno == EINTR, seen[SIGUSR1]);
    for (int i = 0; i < 20; i++) {
        child = fork();
        if (!child) {
            usleep(i * 100);
            kill(getppid(), i & 1 ? SIGUSR1 : SIGUSR2);
            _exit(0);
        }
        int before = seen[SIGUSR1] + seen[SIGUSR2];
        while (seen[SIGUSR1] + seen[SIGUSR2] == before)
            wait_for();
        waitpid(child, NULL, 0);
    }
    sigprocmask(SIG_SETMASK, NULL, &now);
    printf("%s sent: seen %d %d, blocked %d %d\n", what, seen[SIGUSR1], seen[SIGUSR2],
           sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
    order = 0;
    raise(SIGUSR2);
    raise(SIGUSR1);
    wait_for();
    sigpending(&now);
    printf("%s two: %d handled, first %d, pending %d %d\n", what, order, first,
           sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
    while (order < 2)
        wait_for();
    if (!sigsetjmp(jump, 1)) {
        raise(SIGQUIT);
        wait_for();
        puts("not reached");
    }
    sigprocmask(SIG_SETMASK, NULL, &now);
    printf("%s left: %d, blocked %d\n", what, seen[SIGQUIT], sigismember(&now, SIGQUIT));
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    action.sa_handler = on_quit;
    sigaction(SIGQUIT, &action, NULL);
    sigfillset(&all);
    sigdelset(&all, SIGCHLD);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, NULL);
    epoll = epoll_create1(0);
    check("sigsuspend", wait_suspended);
    check("ppoll", wait_polling);
    check("pselect", wait_selecting);
    check("epoll_pwait", wait_epolling);
    printf("blocked inside %d\n", blocked_inside);
    return 0;
}

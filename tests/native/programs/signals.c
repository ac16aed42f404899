/*
 * signals.c: a storm of timer signals over recursion and over a tight loop; faults that the handler
 * mends in the registers it was given; a jump out of a handler on its own stack; SA_RESTART; nested
 * handlers; system calls that get no address, with every signal blocked; then death by SIGTERM. Prints
 * the same every time, alone or under an engine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long alarms, faults, depth, deepest;
static sigjmp_buf jump;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *registers = context;
    (void)number;
    if (++faults > 1000)
        siglongjmp(jump, 1);
    if (info->si_addr != (void *)16)
        exit(9);
    registers->uc_mcontext.gregs[REG_RAX] = (long)&faults;
}

static void on_user(int number)
{
    depth++;
    if (depth > deepest)
        deepest = depth;
    if (number == SIGUSR1)
        raise(SIGUSR2);
    depth--;
}

__attribute__((noinline)) static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static void storm(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {0};
    handle(SIGALRM, on_alarm, SA_RESTART);
    setitimer(ITIMER_REAL, &often, NULL);
    long sum = 0;
    for (int i = 0; i < 40; i++)
        sum += fib(20);
    unsigned hash = 1;
    for (long i = 0; i < 30000000; i++)
        hash = hash * 31 + i;
    setitimer(ITIMER_REAL, &never, NULL);
    printf("storm %ld %u, signals came: %d\n", sum, hash, alarms > 10);
}

static void restart(void)
{
    struct itimerval soon = {{0, 20000}, {0, 20000}}, never = {0}; /* again, if it came too soon */
    int pipes[2];
    char byte;
    if (pipe(pipes))
        exit(2);
    if (fork() == 0) {
        usleep(100000);
        _exit(write(pipes[1], "x", 1) != 1);
    }
    handle(SIGALRM, on_alarm, SA_RESTART);
    setitimer(ITIMER_REAL, &soon, NULL);
    printf("restarted: %zd\n", read(pipes[0], &byte, 1));
    while (wait(NULL) < 0)
        ;
    handle(SIGALRM, on_alarm, 0);
    setitimer(ITIMER_REAL, &soon, NULL);
    ssize_t got = read(pipes[0], &byte, 1);
    int why = errno;
    setitimer(ITIMER_REAL, &never, NULL);
    printf("interrupted: %zd, EINTR %d\n", got, why == EINTR);
}

static void mend(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 1000; i++) {
        long value;
        __asm__ volatile("mov $16, %%eax\n\tmov (%%rax), %0" : "=r"(value) : : "rax");
        if (value != i + 1)
            exit(8);
    }
    if (!sigsetjmp(jump, 1))
        *(volatile int *)0 = 1;
    printf("mended %ld\n", faults);
}

/* An engine that reads for itself what such a call is given must not fault: faults are blocked. */
static void call_badly(const char *when)
{
    void *nowhere = (void *)4096;
    long action = syscall(SYS_rt_sigaction, SIGUSR1, nowhere, NULL, 8);
    int why = errno;
    long stack = syscall(SYS_sigaltstack, NULL, nowhere);
    printf("%s: %ld %d, %ld %d\n", when, action, why == EFAULT, stack, errno == EFAULT);
    fflush(stdout);
}

static void on_blocked(int number)
{
    (void)number;
    call_badly("in a handler");
}

static void block(void)
{
    struct sigaction action = {.sa_handler = on_blocked};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    call_badly("blocked");
    if (fork() == 0) {
        call_badly("in a child");
        _exit(0);
    }
    wait(NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    call_badly("unblocked");
    action.sa_mask = all;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    call_badly("after the handler");
}

int main(void)
{
    storm();
    fflush(stdout);
    restart();
    mend();
    block();
    handle(SIGUSR1, on_user, 0);
    handle(SIGUSR2, on_user, 0);
    raise(SIGUSR1);
    printf("nested %ld\n", deepest);
    fflush(stdout);
    raise(SIGTERM);
    return 0;
}

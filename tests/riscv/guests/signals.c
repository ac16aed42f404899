/* Handlers: raised, nested, for a fault, on another stack, left by siglongjmp. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf out;
static volatile int depth;
static volatile long *volatile nowhere = (long *)8;

static void count(int number)
{
    depth++;
    if (number == SIGUSR1)
        raise(SIGUSR2);
    printf("signal %d at depth %d\n", number, depth);
    depth--;
}

static void leave(int number, siginfo_t *information, void *context)
{
    (void)context;
    printf("fault %d on %p\n", number, information->si_addr);
    siglongjmp(out, number);
}

int main(void)
{
    struct sigaction action = {.sa_handler = count};
    char *stack = malloc(65536);

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR1);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    raise(SIGUSR2);
    puts("still blocked");
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    stack_t alternate = {.ss_sp = stack, .ss_size = 65536};
    sigaltstack(&alternate, NULL);
    action = (struct sigaction){.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(out, 1))
        *nowhere = 1;
    puts("after the fault");
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    puts("never");
    return 0;
}

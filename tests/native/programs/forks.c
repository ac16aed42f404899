/*
 * forks.c: children that go on where their parent was: in recursion, in a coroutine, in a handler on
 * its own stack; children of children; and a coroutine that the parent began and a child resumes. What
 * each of them runs is its own.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t here, there;

__attribute__((noinline)) static int leaf(int n)
{
    volatile int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

__attribute__((noinline)) static int down(int n, int depth)
{
    return depth ? down(n, depth - 1) + leaf(n) : leaf(n);
}

static int status_of(pid_t child)
{
    int status;

    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

__attribute__((noinline)) static void coroutine(void)
{
    leaf(50);
    swapcontext(&there, &here);
    leaf(70);
    pid_t child = fork();
    if (!child) {
        leaf(90);
        swapcontext(&there, &here);
        _exit(down(10, 3) & 127);
    }
    printf("in a coroutine: %d\n", status_of(child));
    swapcontext(&there, &here);
}

__attribute__((noinline)) static void generations(int left)
{
    leaf(10 * left);
    if (!left)
        return;
    pid_t child = fork();
    if (!child) {
        generations(left - 1);
        _exit(left);
    }
    leaf(status_of(child));
}

static void on_signal(int number)
{
    leaf(number);
    pid_t child = fork();
    if (child)
        leaf(status_of(child));
}

/* The child comes back from the handler, too. */
__attribute__((noinline)) static int signalled(int depth)
{
    if (depth)
        return signalled(depth - 1) + leaf(2);
    raise(SIGUSR1);
    return down(5, 4);
}

int main(void)
{
    static char stack[65536], handler_stack[65536];
    pid_t first = getpid();

    setvbuf(stdout, NULL, _IONBF, 0);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, coroutine, 0);
    swapcontext(&here, &there);
    sigaltstack(&(stack_t){.ss_sp = handler_stack, .ss_size = sizeof handler_stack}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, NULL);
    for (int i = 1; i < 4; i++) {
        pid_t child = fork();
        if (!child) {
            generations(i);
            if (i == 2)
                swapcontext(&here, &there);
            _exit(leaf(i) & 127);
        }
        printf("child %d: %d\n", i, status_of(child));
    }
    int sum = signalled(6);
    if (getpid() != first)
        _exit(sum);
    swapcontext(&here, &there);
    if (getpid() != first) {
        leaf(7);
        swapcontext(&here, &there);
    }
    printf("%d\n", sum);
    return 0;
}

/*
 * filters.c: filters of system calls, each in a child of its own: errors, SIGSYS, death, a list of a
 * few calls that are allowed, strict mode, arithmetic, filters that are no good, all threads at once,
 * and a program that is executed under one. Prints the same alone and under an engine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define LOAD(field)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value)     BPF_STMT(BPF_RET | BPF_K, value)
#define ON(number, value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ANSWER(value)
#define INSTALL(...)                                                                               \
    install((struct sock_filter[]){__VA_ARGS__},                                                   \
            sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

static int install(struct sock_filter *code, unsigned count)
{
    struct sock_fprog program = {count, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    return result ? errno : 0;
}

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static long parent(void)
{
    long result = syscall(SYS_getppid);
    return result == -1 ? -errno : result;
}

static void errors(void)
{
    INSTALL(LOAD(nr), ON(SYS_getppid, SECCOMP_RET_ERRNO | 77), ANSWER(SECCOMP_RET_ALLOW));
    INSTALL(LOAD(nr), ON(SYS_getppid, SECCOMP_RET_LOG), ON(SYS_getuid, SECCOMP_RET_ERRNO | 5),
            ANSWER(SECCOMP_RET_ALLOW));
    printf("%ld %ld\n", parent(), syscall(SYS_getuid));
    char line[200];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "Seccomp:", 8) || !strncmp(line, "NoNewPrivs:", 11))
            fputs(line, stdout);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d, call %d, code %d, data %d, rax %lld, at the call %d\n", number,
           info->si_syscall, info->si_code, info->si_errno, registers[REG_RAX],
           info->si_call_addr == (void *)registers[REG_RIP]);
    registers[REG_RAX] = 4242;
}

static void traps(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    INSTALL(LOAD(nr), ON(SYS_getppid, SECCOMP_RET_TRAP | 5), ANSWER(SECCOMP_RET_ALLOW));
    for (int i = 0; i < 3; i++)
        printf("%ld\n", parent());
    signal(SIGSYS, SIG_IGN);
    parent();
    puts("not reached");
}

static void death(void)
{
    INSTALL(LOAD(nr), ON(SYS_getppid, SECCOMP_RET_KILL_PROCESS), ANSWER(SECCOMP_RET_ALLOW));
    parent();
    puts("not reached");
}

/* No memory, no locks, no files: what the engine needs, the program does not allow. */
static void few(void)
{
    INSTALL(LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
            ANSWER(SECCOMP_RET_KILL_PROCESS), LOAD(nr), ON(SYS_write, SECCOMP_RET_ALLOW),
            ON(SYS_exit_group, SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_KILL_PROCESS));
    char text[100];
    sprintf(text, "%d %f\n", fib(20), 3.25);
    write(1, text, strlen(text));
}

static void strict(void)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    write(1, "strict\n", 7);
    if (fib(15) == 610)
        syscall(SYS_exit, 9);
}

static void too_strict(void)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    parent();
    syscall(SYS_exit, 9);
}

/* The error is the argument's low byte, in the ways of the language. */
static void computes(void)
{
    INSTALL(LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 1, 0),
            ANSWER(SECCOMP_RET_ALLOW), LOAD(args[0]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 255),
            BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 3), BPF_STMT(BPF_MISC | BPF_TAX, 0),
            BPF_STMT(BPF_STX, 7), BPF_STMT(BPF_LD | BPF_IMM, 8), BPF_STMT(BPF_MISC | BPF_TAX, 0),
            BPF_STMT(BPF_LD | BPF_MEM, 7), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
            BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO), BPF_STMT(BPF_RET | BPF_A, 0));
    for (int i = 1; i < 600; i += 200) {
        int result = getpgid(i);
        printf("%d %d\n", result, errno);
    }
}

static void no_good(void)
{
    struct sock_fprog nowhere = {1, (void *)8};
    printf("%d", INSTALL(LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 7, 0),
                         ANSWER(SECCOMP_RET_ALLOW)));
    printf(" %d", INSTALL(LOAD(nr)));
    printf(" %d", INSTALL(BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), ANSWER(SECCOMP_RET_ALLOW)));
    printf(" %d", install(NULL, 0));
    int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &nowhere);
    printf(" %d %d\n", result, errno);
}

static volatile int installed;

static void *in_thread(void *unused)
{
    while (!installed)
        ;
    return (void *)parent();
}

static void threads(void)
{
    struct sock_filter code[] = {LOAD(nr), ON(SYS_getppid, SECCOMP_RET_ERRNO | 33),
                                 ANSWER(SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, code};
    pthread_t thread;
    void *before, *after;
    pthread_create(&thread, NULL, in_thread, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long result =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    installed = 1;
    pthread_join(thread, &before);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, &after);
    printf("%ld %ld %ld\n", result, (long)before, (long)after);
}

static void executes(void)
{
    INSTALL(LOAD(nr), ON(SYS_uname, SECCOMP_RET_ERRNO | 1), ANSWER(SECCOMP_RET_ALLOW));
    execlp("sh", "sh", "-c", "uname 2>&1; echo $?", NULL);
}

int main(void)
{
    void (*const cases[])(void) = {errors,     traps,    death,   few,     strict,
                                   too_strict, computes, no_good, threads, executes};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        pid_t child = fork();
        if (!child) {
            cases[i]();
            _exit(7);
        }
        waitpid(child, &status, 0);
        printf("case %u: status %d, signal %d\n", i, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    return 0;
}

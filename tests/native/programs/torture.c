/*
 * torture.c: what is hard on an engine, each kind by name and seed. Prints the same every time.
 *
 *   torture storm SEED      timer signals over recursion, a tight loop, calls through pointers and
 *                           system calls; handlers on either stack, some leave by a jump
 *   torture faults COUNT    faults of four kinds that the handler mends in the registers it is given
 *   torture threads COUNT   threads made and ended, some detached, all counting
 *   torture forks COUNT     children by fork from several threads at once, and by vfork
 *   torture spawns COUNT    children by posix_spawn and through a shell
 *   torture masks SEED      signals that are blocked, queued, waited for and read from a descriptor
 *   torture unwinds SEED    jumps out of deep recursion, with signals
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
}

static void use_alternate_stack(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
}

static void start_timer(unsigned microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- storm ---- */

static volatile unsigned alarms;
static sigjmp_buf out_of_handler;
static volatile sig_atomic_t may_jump;

static int (*volatile through)(int);

static int add_one(int x)
{
    return x + 1;
}

static void on_alarm(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    alarms++;
    through(alarms);
    if (may_jump && alarms % 7 == 0)
        siglongjmp(out_of_handler, 1);
}

static __attribute__((noinline)) long fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static long tight_loop(unsigned turns)
{
    uint64_t x = 1;
    for (unsigned i = 0; i < turns; i++)
        x = x * 0x9e3779b97f4a7c15u + (x >> 7);
    return x;
}

static long calls_through_pointers(unsigned turns)
{
    long sum = 0;
    for (unsigned i = 0; i < turns; i++)
        sum = through(sum ^ i) & 0xffff;
    return sum;
}

static long system_calls(unsigned turns)
{
    int ends[2];
    long sum = 0;
    char byte = 1;
    if (pipe(ends))
        exit(3);
    for (unsigned i = 0; i < turns; i++) {
        while (write(ends[1], &byte, 1) != 1)
            ;
        while (read(ends[0], &byte, 1) != 1)
            ;
        sum += byte;
    }
    close(ends[0]);
    close(ends[1]);
    return sum;
}

static void storm(unsigned seed)
{
    random_state = seed;
    through = add_one;
    if (seed % 2)
        use_alternate_stack();
    handle(SIGALRM, on_alarm, (seed % 2 ? SA_ONSTACK : 0) | (seed % 3 ? SA_RESTART : 0));
    start_timer(40 + random_below(200));
    for (int round = 0; round < 4 || alarms < 20; round++) {
        long results[] = {fibonacci(16), tight_loop(20000), calls_through_pointers(2000),
                          system_calls(100)};
        if (round == 0)
            printf("%ld %ld %ld %ld\n", results[0], results[1], results[2], results[3]);
    }
    unsigned jumps = 0;
    if (sigsetjmp(out_of_handler, 1))
        jumps++;
    may_jump = jumps < 3;
    while (jumps < 3)
        fibonacci(12);
    start_timer(0);
    printf("jumps %u\n", jumps);
}

/* ---- faults ---- */

static volatile long faults[32];
static long good = 5;

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    faults[number]++;
    switch (number) {
    case SIGSEGV:
        if (info->si_addr != (void *)24)
            _exit(9);
        registers[REG_RAX] = (long)&good;
        break;
    case SIGFPE:
        registers[REG_RCX] = 7;
        break;
    case SIGILL:
        registers[REG_RIP] += 2;
        break;
    case SIGTRAP:
        registers[REG_RDX] += 1;
        break;
    }
}

static void mend_faults(unsigned count)
{
    long sum = 0;
    for (int i = 0; i < 4; i++)
        handle((int[]){SIGSEGV, SIGFPE, SIGILL, SIGTRAP}[i], on_fault, 0);
    for (unsigned i = 0; i < count; i++) {
        long value, quotient, rest, trapped = i;
        __asm__ volatile("mov $24, %%eax; mov (%%rax), %0" : "=r"(value) : : "rax", "memory");
        __asm__ volatile("xor %%ecx, %%ecx; mov $100, %%eax; xor %%edx, %%edx; div %%rcx"
                         : "=&a"(quotient), "=&d"(rest)
                         :
                         : "rcx");
        __asm__ volatile("ud2");
        __asm__ volatile("int3" : "+d"(trapped));
        sum += value + quotient + rest + trapped;
    }
    printf("%ld: %ld %ld %ld %ld\n", sum, faults[SIGSEGV], faults[SIGFPE], faults[SIGILL],
           faults[SIGTRAP]);
}

/* ---- threads ---- */

static long counted;

static void *count(void *argument)
{
    __atomic_fetch_add(&counted, (long)argument % 13, __ATOMIC_RELAXED);
    return argument;
}

static void make_threads(unsigned number)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (unsigned made = 0; made < number; made += 5) {
        pthread_t threads[5];
        for (long i = 0; i < 5; i++)
            while (
                pthread_create(&threads[i], i == 4 ? &detached : NULL, count, (void *)(made + i)))
                usleep(100);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    long wanted = 0;
    for (unsigned i = 0; i < number; i++)
        wanted += i % 13;
    while (__atomic_load_n(&counted, __ATOMIC_RELAXED) != wanted)
        usleep(100);
    printf("%ld\n", counted);
}

/* ---- processes ---- */

static int status_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static void *fork_some(void *argument)
{
    long sum = 0, number = (long)argument;
    for (long i = 0; i < number; i++) {
        pid_t child = fork();
        if (child == 0) {
            free(malloc(100 + i));
            _exit((fibonacci(10) + i) % 100);
        }
        sum += status_of(child);
    }
    return (void *)sum;
}

static void make_forks(unsigned number)
{
    pthread_t threads[4];
    long sum = 0;
    void *result;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fork_some, (void *)(long)(number / 4));
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    for (unsigned i = 0; i < number / 4; i++) {
        pid_t child = vfork();
        if (child == 0)
            _exit(i % 7);
        sum += status_of(child);
    }
    printf("%ld\n", sum);
}

static void make_spawns(unsigned number)
{
    long sum = 0;
    for (unsigned i = 0; i < number; i++) {
        char text[16];
        char *words[] = {"sh", "-c", text, NULL};
        pid_t child;
        sprintf(text, "exit %u", i % 50);
        if (!posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ))
            sum += status_of(child);
        sum += posix_spawn(&child, "/no/such/program", NULL, NULL, words, environ) == ENOENT;
    }
    printf("%ld %d\n", sum, WEXITSTATUS(system("exit 7")));
}

/* ---- masks ---- */

static volatile long queued;

static void on_queued(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    queued = queued * 3 + info->si_value.sival_int;
}

static void use_masks(unsigned seed)
{
    sigset_t set, old, waited;
    siginfo_t info;
    random_state = seed;
    handle(SIGRTMIN, on_queued, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGRTMIN + 1);
    sigaddset(&set, SIGUSR2);
    for (int round = 0; round < 20; round++) {
        sigprocmask(SIG_BLOCK, &set, &old);
        for (int i = 0; i < 5; i++)
            sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i + round});
        sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = round});
        sigpending(&waited);
        if (!sigismember(&waited, SIGRTMIN))
            exit(4);
        sigemptyset(&waited);
        sigaddset(&waited, SIGRTMIN + 1);
        if (sigwaitinfo(&waited, &info) != SIGRTMIN + 1 || info.si_value.sival_int != round)
            exit(5);
        sigset_t open = old;
        sigdelset(&open, SIGRTMIN);
        if (sigsuspend(&open) != -1 || errno != EINTR)
            exit(6);
        sigprocmask(SIG_SETMASK, &old, NULL);
    }
    sigprocmask(SIG_BLOCK, &set, &old);
    int file = signalfd(-1, &set, 0);
    struct signalfd_siginfo read_info;
    raise(SIGUSR2);
    if (read(file, &read_info, sizeof read_info) != sizeof read_info)
        exit(7);
    printf("%ld %u\n", queued, read_info.ssi_signo);
}

/* ---- unwinding ---- */

static sigjmp_buf bottom;

static __attribute__((noinline)) int dig(int depth)
{
    volatile char room[64];
    room[depth % 64] = depth;
    if (depth == 0)
        siglongjmp(bottom, 1);
    return dig(depth - 1) + room[depth % 64];
}

static void unwind(unsigned seed)
{
    volatile int jumps = 0;
    random_state = seed;
    through = add_one;
    handle(SIGALRM, on_alarm, SA_RESTART);
    start_timer(100 + random_below(200));
    while (jumps < 300) {
        if (!sigsetjmp(bottom, seed % 2))
            dig(10 + random_below(500));
        jumps++;
    }
    start_timer(0);
    printf("%d\n", jumps);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned);
    } kinds[] = {{"storm", storm},      {"faults", mend_faults}, {"threads", make_threads},
                 {"forks", make_forks}, {"spawns", make_spawns}, {"masks", use_masks},
                 {"unwinds", unwind}};
    for (unsigned i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name)) {
            kinds[i].run(atoi(argv[2]));
            return 0;
        }
    return 2;
}

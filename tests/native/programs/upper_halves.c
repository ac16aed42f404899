/*
 * The upper halves of vector registers, which SSE instructions leave alone: through faults of such
 * instructions, whose handler sees and changes them, through ticks of a timer, system calls, and until
 * vzeroupper.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { FIRST = 8, COUNT = 8, AVX_STATE = 576 };

struct halves {
    uint64_t words[COUNT][4]; /* of ymm8 to ymm15 */
};

#define EACH(what) what(8) what(9) what(10) what(11) what(12) what(13) what(14) what(15)
#define LOAD(n)    "vmovdqu (" #n " - 8) * 32(%0), %%ymm" #n "\n\t"
#define STORE(n)   "vmovdqu %%ymm" #n ", (" #n " - 8) * 32(%0)\n\t"
#define USED       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory"

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    (void)number;
    ticks++;
}

/* The instruction is skipped, and the upper half of xmm12 is another. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    uint64_t *upper = (uint64_t *)((uint8_t *)machine->fpregs + AVX_STATE + 16 * 12);
    (void)number;
    printf("fault at %p: %llx %llx\n", info->si_addr, (unsigned long long)upper[0],
           (unsigned long long)upper[1]);
    upper[1] += 0x1000;
    machine->gregs[REG_RIP] = machine->gregs[REG_RAX];
}

static struct halves pattern(void)
{
    struct halves halves;
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < 4; k++)
            halves.words[i][k] = 0x101010101010101ull * (FIRST + i) + k;
    return halves;
}

static void show(const char *what, const struct halves *halves)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < 4; k++)
            sum = sum * 31 + halves->words[i][k];
    printf("%s: %llx, upper %llx %llx\n", what, (unsigned long long)sum,
           (unsigned long long)halves->words[4][2], (unsigned long long)halves->words[4][3]);
}

/* SSE on the lower halves for a while. */
static void add(struct halves *halves, long rounds)
{
    __asm__ volatile(EACH(LOAD) "1: paddq %%xmm8, %%xmm10\n\t"
                                "paddq %%xmm9, %%xmm11\n\t"
                                "paddq %%xmm10, %%xmm12\n\t"
                                "pxor %%xmm11, %%xmm13\n\t"
                                "paddq %%xmm12, %%xmm14\n\t"
                                "paddq %%xmm13, %%xmm15\n\t"
                                "dec %1\n\t"
                                "jnz 1b\n\t" EACH(STORE)
                     : "+r"(halves), "+r"(rounds)
                     :
                     : "cc", USED);
}

static void fault(struct halves *halves)
{
    __asm__ volatile(EACH(LOAD) "lea 1f(%%rip), %%rax\n\t"
                                "paddq %%xmm8, %%xmm12\n\t"
                                "paddq 0x40, %%xmm12\n\t"
                                "1: paddq %%xmm8, %%xmm12\n\t" EACH(STORE)
                     : "+r"(halves)
                     :
                     : "rax", "cc", USED);
}

/* A system call in between; then nothing is left of them. */
static void call(struct halves *halves, int zero)
{
    long number = 39; /* getpid */
    if (zero)
        __asm__ volatile(EACH(LOAD) "vzeroupper\n\t"
                                    "syscall\n\t" EACH(STORE)
                         : "+r"(halves), "+a"(number)
                         :
                         : "rcx", "r11", "cc", USED);
    else
        __asm__ volatile(EACH(LOAD) "syscall\n\t"
                                    "paddq %%xmm8, %%xmm12\n\t" EACH(STORE)
                         : "+r"(halves), "+a"(number)
                         :
                         : "rcx", "r11", "cc", USED);
}

int main(void)
{
    struct sigaction tick = {.sa_handler = on_tick},
                     faults = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct halves halves = pattern();
    if (!__builtin_cpu_supports("avx")) {
        puts("no AVX");
        return 0;
    }
    sigaction(SIGALRM, &tick, NULL);
    sigaction(SIGSEGV, &faults, NULL);
    for (int i = 0; i < 3; i++)
        fault(&halves);
    show("faults", &halves);
    setitimer(ITIMER_REAL, &often, NULL);
    add(&halves, 30000000);
    setitimer(ITIMER_REAL, &never, NULL);
    show(ticks ? "ticks" : "no ticks", &halves);
    for (int i = 0; i < 1000; i++)
        call(&halves, 0);
    show("calls", &halves);
    call(&halves, 1);
    show("zeroed", &halves);
    add(&halves, 1000);
    show("added", &halves);
    return 0;
}

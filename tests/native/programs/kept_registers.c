/*
 * kept_registers.c: the handler of a fault finds the register that the faulting instruction was
 * about to overwrite as the program left it, whatever the engine may have used it for.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MARK 0x123456789abcdef0

static uint64_t good[2] = {7, 8}, found, bad;
static int looked_at;

static void handler(int number, siginfo_t *info, void *frame)
{
    greg_t *registers = ((ucontext_t *)frame)->uc_mcontext.gregs;
    (void)number;
    (void)info;
    found = registers[looked_at];
    registers[REG_R8] = (uint64_t)good;
}

/* The instruction is the only one of its block that has a register to give. */
#define FAULT(name, instruction, reg)                                                              \
    static __attribute__((noinline)) uint64_t name(void)                                           \
    {                                                                                              \
        uint64_t result;                                                                           \
        __asm__ volatile("mov %1, %%r8\n"                                                          \
                         "mov %2, %%" reg "\n"                                                     \
                         "jmp 1f\n"                                                                \
                         "1: " instruction "\n"                                                    \
                         "test %%" reg ", %%" reg "\n"                                             \
                         "jmp 2f\n"                                                                \
                         "2: mov %%" reg ", %0\n"                                                  \
                         : "=&r"(result)                                                           \
                         : "r"(bad), "r"(MARK)                                                     \
                         : "r8", "rax", "rdx", "rsi", "r9", "cc", "memory");                       \
        return result;                                                                             \
    }

FAULT(load, "mov (%%r8), %%rax", "rax")
FAULT(load_32, "mov (%%r8), %%edx", "rdx")
FAULT(load_high, "mov 8(%%r8), %%r9", "r9")
FAULT(widen, "movzbl (%%r8), %%esi", "rsi")
FAULT(widen_signed, "movslq (%%r8), %%rax", "rax")

static void try(const char *name, uint64_t (*faults)(void), int reg)
{
    looked_at = reg;
    for (int i = 0; i < 3; i++) {
        found = 0;
        uint64_t result = faults();
        printf("%s: %s, %d\n", name, found == MARK ? "kept" : "lost", (int)result);
    }
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bad = (uint64_t)page + 1024;
    sigaction(SIGSEGV, &action, NULL);
    try("load", load, REG_RAX);
    try("load of 32 bits", load_32, REG_RDX);
    try("load into r9", load_high, REG_R9);
    try("movzx", widen, REG_RSI);
    try("movsxd", widen_signed, REG_RAX);
    return 0;
}

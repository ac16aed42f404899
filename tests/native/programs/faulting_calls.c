/*
 * faulting_calls.c: calls that fault themselves: on a stack that cannot be written, of a leaf and of
 * another, direct and indirect; to what is no address, to where nothing is or nothing that runs, and to
 * an instruction that ends in a page that is not there. The handler finds the program as it was before
 * the call, or at its callee, and what the processor says of the fault. Where there is code by then, the
 * next call does not fault. Each is made often, so that an engine knows it. Prints the same every time,
 * alone or under an engine.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* call_it(function, stack): every way to call it has a label of its own. */
void call_leaf(void *, void *), call_other(void *, void *), call_through(void *, void *),
    call_memory(void *, void *);
void leaf(void), other(void);

__asm__(".text\n"
        ".type leaf, @function\n"
        "leaf: lea 1(%rax), %rax\n"
        "    ret\n"
        ".size leaf, . - leaf\n"
        ".type other, @function\n"
        "other: call leaf\n"
        "    ret\n"
        ".size other, . - other\n"
        ".macro caller name, call\n"
        ".globl \\name\n"
        ".type \\name, @function\n"
        "\\name: mov %rsp, %r11\n"
        "    mov $0x1234, %ecx\n"
        "    mov $0x5678, %edx\n"
        "    mov %rsi, %rsp\n"
        "    \\call\n"
        "    mov %r11, %rsp\n"
        "    ret\n"
        ".size \\name, . - \\name\n"
        ".endm\n"
        "caller call_leaf, \"call leaf\"\n"
        "caller call_other, \"call other\"\n"
        "caller call_through, \"call *%rdi\"\n"
        "caller call_memory, \"call *(%rdi)\"\n");

static struct {
    uint64_t rip, rsp, rcx, rdx, address, trap, error;
    int signal, code;
} seen;
static sigjmp_buf back;

static void on_fault(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    seen.rip = r[REG_RIP], seen.rsp = r[REG_RSP], seen.rcx = r[REG_RCX], seen.rdx = r[REG_RDX];
    seen.address = (uint64_t)info->si_addr, seen.trap = r[REG_TRAPNO], seen.error = r[REG_ERR];
    seen.signal = number, seen.code = info->si_code;
    siglongjmp(back, 1);
}

/* Where it is, from `stack` and from the caller's first instruction or the callee's. */
static void show(const char *name, void *caller, void *target, char *stack, bool at_target)
{
    printf("%s: %d %d (%lu %lx), at %ld, stack %ld, address %ld, %lx %lx\n", name, seen.signal,
           seen.code, seen.trap, seen.error,
           (long)(seen.rip - (uint64_t)(at_target ? target : caller)),
           (long)(seen.rsp - (uint64_t)stack),
           (long)(seen.code == SI_KERNEL ? seen.address
                  : at_target            ? seen.address - (uint64_t)target
                                         : seen.address - (uint64_t)stack),
           seen.rcx, seen.rdx);
}

static void try_call(const char *name, void (*caller)(void *, void *), void *argument, char *stack,
                     void *target, bool at_target)
{
    seen.signal = 0;
    if (!sigsetjmp(back, 1))
        caller(argument, stack);
    show(name, (void *)caller, target, stack, at_target);
}

static void put_code(char *page, const void *code, size_t size_bytes)
{
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(page, code, size_bytes);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

int main(void)
{
    static char handler_stack[65536];
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *good = pages + 2048, *bad = pages + 4096 + 2048, *cut = pages + 3 * 4096 - 3;
    char *illegal = pages + 2 * 4096, *nowhere = pages + 3 * 4096;
    void *wild = (void *)0x1234567890abcdef;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    mprotect(pages + 4096, 4096, PROT_READ);
    munmap(nowhere, 4096);
    sigaltstack(&(stack_t){.ss_sp = handler_stack, .ss_size = sizeof handler_stack}, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    for (int i = 0; i < 100; i++) {
        void *to_leaf = (void *)leaf;
        call_leaf(NULL, good);
        call_other(NULL, good);
        call_through(to_leaf, good);
        call_memory(&to_leaf, good);
    }
    for (int i = 0; i < 3; i++) {
        void *to_leaf = (void *)leaf;
        put_code(illegal, "\x06", 1);
        mprotect(illegal, 4096, PROT_READ | PROT_WRITE);
        memcpy(cut, "\x48\xb8", 2); /* mov $..., %rax */
        mprotect(illegal, 4096, PROT_READ | PROT_EXEC);
        try_call("leaf", call_leaf, NULL, bad, NULL, false);
        try_call("other", call_other, NULL, bad, NULL, false);
        try_call("through", call_through, to_leaf, bad, NULL, false);
        try_call("memory", call_memory, &to_leaf, bad, NULL, false);
        try_call("wild", call_through, wild, good, NULL, false);
        try_call("wild in memory", call_memory, &wild, good, NULL, false);
        try_call("cut", call_through, cut, good, cut, true);
        try_call("illegal", call_through, illegal, good, illegal, true);
        try_call("nowhere", call_through, nowhere, good, nowhere, true);
        try_call("data", call_through, pages, good, pages, true);
        put_code(illegal, "\xc3", 1);
        put_code(nowhere, "\xc3", 1);
        try_call("legal by now", call_through, illegal, good, illegal, true);
        try_call("there by now", call_through, nowhere, good, nowhere, true);
        munmap(nowhere, 4096);
    }
    return 0;
}

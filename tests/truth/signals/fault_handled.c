/*
 * Faults that the program handles. An instruction that faults does not count, until it runs again
 * and does not fault: the handler mends the page of the first, and steps over the second.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;store 3
 *     _start;main;store;(signal 11);mend *
 *     _start;main;store;(signal 11);__restore_rt 2
 *     _start;main;divide 4
 *     _start;main;divide;(signal 8);step_over *
 *     _start;main;divide;(signal 8);__restore_rt 2
 */
#include "freestanding.h"

#define SYS_mprotect 10
#define UCONTEXT_RIP (168 / 8)

static word *page;

NOINLINE void mend(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    CALL3(SYS_mprotect, page, 4096, MEMORY_READ_WRITE);
}

NOINLINE void step_over(int number, void *information, void *context)
{
    (void)number, (void)information;
    ((word *)context)[UCONTEXT_RIP] += 2; /* the length of `div %ecx` */
}

void store(word *where, word value);
__asm__(".type store, @function\n"
        "store: nop\n"
        "    mov %rsi, (%rdi)\n" /* faults once, then counts once */
        "    ret\n"
        ".size store, . - store\n");

void divide(void);
__asm__(".type divide, @function\n"
        "divide: xor %ecx, %ecx\n"
        "    xor %edx, %edx\n"
        "    div %ecx\n" /* faults, never counts */
        "    nop\n"
        "    ret\n"
        ".size divide, . - divide\n");

int main(void)
{
    page = map_memory(4096, 0);
    handle_signal(SIGSEGV_NUMBER, mend, 0);
    handle_signal(SIGFPE_NUMBER, step_over, 0);
    store(page, 42);
    divide();
    return (int)*page;
}

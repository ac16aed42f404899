/*
 * A fault that the program handles. The instruction that faults does not count, until it runs
 * again and does not fault: the handler mends the page.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;store 3
 *     _start;main;store;(signal 11);mend *
 *     _start;main;store;(signal 11);__restore_rt 2
 */
#include "freestanding.h"

#define SYS_mprotect 10

static word *page;

NOINLINE void mend(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    CALL3(SYS_mprotect, page, 4096, MEMORY_READ_WRITE);
}

void store(word *where, word value);
__asm__(".type store, @function\n"
        "store: nop\n"
        "    mov %rsi, (%rdi)\n" /* faults once, then counts once */
        "    ret\n"
        ".size store, . - store\n");

int main(void)
{
    page = map_memory(4096, 0);
    handle_signal(SIGSEGV_NUMBER, mend, 0);
    store(page, 42);
    return (int)*page;
}

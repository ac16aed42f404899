/*
 * A division by zero whose handler steps over it: the program must be told exactly where it
 * faulted, and the division never counts.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;divide 5
 *     _start;main;divide;(signal 8);step_over *
 *     _start;main;divide;(signal 8);__restore_rt 2
 */
#include "freestanding.h"

#define UCONTEXT_RIP (168 / 8)

NOINLINE void step_over(int number, void *information, void *context)
{
    (void)number, (void)information;
    ((word *)context)[UCONTEXT_RIP] += 2; /* the length of `div %ecx` */
}

void divide(void);
__asm__(".type divide, @function\n"
        "divide: xor %ecx, %ecx\n"
        "    xor %edx, %edx\n"
        "    nop\n"
        "    div %ecx\n" /* faults, never counts */
        "    nop\n"
        "    ret\n"
        ".size divide, . - divide\n");

int main(void)
{
    handle_signal(SIGFPE_NUMBER, step_over, 0);
    divide();
    return 0;
}

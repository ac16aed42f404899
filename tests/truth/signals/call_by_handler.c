/*
 * A handler makes the program call a function: it puts a return address on the stack and lets the
 * program go on at the function, as Go does to interrupt a goroutine. The function is called by
 * the one that was interrupted, which goes on when it returns.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;divide 5
 *     _start;main;divide;asked_for 2
 *     _start;main;divide;(signal 8);call_it *
 *     _start;main;divide;(signal 8);__restore_rt 2
 */
#include "freestanding.h"

#define UCONTEXT_RSP (160 / 8)
#define UCONTEXT_RIP (168 / 8)

void asked_for(void);
__asm__(".type asked_for, @function\nasked_for: nop\nret\n.size asked_for, . - asked_for\n");

NOINLINE void call_it(int number, void *information, void *context)
{
    word *registers = context;

    (void)number, (void)information;
    registers[UCONTEXT_RSP] -= 8;
    *(word *)registers[UCONTEXT_RSP] = registers[UCONTEXT_RIP] + 2; /* after `div %ecx` */
    registers[UCONTEXT_RIP] = (word)asked_for;
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
    handle_signal(SIGFPE_NUMBER, call_it, 0);
    divide();
    return 0;
}

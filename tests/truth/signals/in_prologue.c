/*
 * A signal before a function has made its frame and after it has removed it: the handler stands
 * under that function all the same.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;arriving 6
 *     _start;main;arriving;(signal 11);handler *
 *     _start;main;arriving;(signal 11);__restore_rt 2
 *     _start;main;leaving 5
 *     _start;main;leaving;(signal 11);handler *
 *     _start;main;leaving;(signal 11);__restore_rt 2
 *     _start;main;leaf 2
 */
#include "freestanding.h"

#define UCONTEXT_RIP (168 / 8)

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information;
    ((word *)context)[UCONTEXT_RIP] += 2;
}

void arriving(void);
void leaving(void);
void leaf(void);
__asm__(".type arriving, @function\n"
        "arriving: xor %ecx, %ecx\n"
        "    mov %ecx, (%rcx)\n" /* faults before the frame is there, and is stepped over */
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    nop\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size arriving, . - arriving\n"
        ".type leaving, @function\n"
        "leaving: push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    xor %ecx, %ecx\n"
        "    pop %rbp\n"
        "    jmp *(%rcx)\n" /* faults, and is stepped over */
        "    ret\n"
        ".size leaving, . - leaving\n"
        ".type leaf, @function\n"
        "leaf: nop\n"
        "    ret\n"
        ".size leaf, . - leaf\n");

int main(void)
{
    handle_signal(SIGSEGV_NUMBER, handler, 0);
    arriving();
    leaving();
    leaf();
    return 0;
}

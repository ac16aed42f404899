/*
 * Faults whose handler jumps away from them, an access and a division: neither instruction counts,
 * nor what stands after it in the same straight run.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;set_jump 24
 *     _start;main;store 2
 *     _start;main;store;(signal 11);handler *
 *     _start;main;store;(signal 11);handler;long_jump 9
 *     _start;main;divide 3
 *     _start;main;divide;(signal 8);handler *
 *     _start;main;divide;(signal 8);handler;long_jump 9
 *     _start;main;leaf 4
 */
#include "freestanding.h"

static jump_point point;

NOINLINE void handler(int number, void *information, void *context)
{
    (void)number, (void)information, (void)context;
    long_jump(point, 1);
}

void store(void);
void divide(void);
void leaf(void);
__asm__(".type store, @function\n"
        "store: xor %ecx, %ecx\n"
        "    nop\n"
        "    movl $1, (%rcx)\n"
        "    nop\n"
        "    nop\n"
        "    ret\n"
        ".size store, . - store\n"
        ".type divide, @function\n"
        "divide: xor %ecx, %ecx\n"
        "    xor %edx, %edx\n"
        "    nop\n"
        "    div %ecx\n"
        "    nop\n"
        "    nop\n"
        "    ret\n"
        ".size divide, . - divide\n"
        ".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

int main(void)
{
    handle_signal(SIGFPE_NUMBER, handler, NOT_MASKED);
    handle_signal(SIGSEGV_NUMBER, handler, NOT_MASKED);
    if (set_jump(point) == 0)
        store();
    leaf();
    if (set_jump(point) == 0)
        divide();
    leaf();
    return 0;
}

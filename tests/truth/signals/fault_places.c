/*
 * Instructions that fault, of many kinds, amid others that also go to memory: a handler must find
 * each program counter exact, or it would not know where to go on. One that faulted never counts.
 * Of each stretch of `walk` the five around it do; there are 23 stretches.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;walk 116
 *     _start;main;walk;(signal 11);go_on *
 *     _start;main;walk;(signal 11);__restore_rt 46
 */
#include "freestanding.h"

#define UCONTEXT_RIP (168 / 8)

/* Two words for each stretch: where it faults, where it goes on. */
extern const word places[];
static int wrong;

NOINLINE void go_on(int number, void *information, void *context)
{
    static unsigned turn;
    word *pc = &((word *)context)[UCONTEXT_RIP];

    (void)number, (void)information;
    wrong += *pc != places[2 * turn];
    *pc = places[2 * turn++ + 1];
}

void walk(void *nowhere, void *room);
__asm__(".section .rodata\n.balign 8\n.globl places\nplaces:\n.text\n"
        ".macro stretch instruction:vararg\n"
        "    mov (%rsi), %eax\n"
        "    add %eax, 8(%rsi)\n"
        "    inc %eax\n"
        "1:  \\instruction\n"
        "2:  mov %eax, (%rsi)\n"
        "    cmp 8(%rsi), %eax\n"
        "    .pushsection .rodata\n    .quad 1b, 2b\n    .popsection\n"
        ".endm\n"
        ".type walk, @function\n"
        "walk:\n"
        "    stretch mov (%rdi), %rax\n"
        "    stretch mov %rax, (%rdi)\n"
        "    stretch movb $1, (%rdi)\n"
        "    stretch add (%rdi), %eax\n"
        "    stretch add %eax, (%rdi)\n"
        "    stretch movzbl (%rdi), %edx\n"
        "    stretch xchg %edx, (%rdi)\n"
        "    stretch lock cmpxchg %ecx, (%rdi)\n"
        "    stretch lock xadd %ecx, (%rdi)\n"
        "    stretch pushq (%rdi)\n"
        "    stretch call *(%rdi)\n"
        "    stretch jmp *(%rdi)\n"
        "    stretch mov (%r8), %rdx\n" /* no address at all */
        "    stretch movaps 1(%rsi), %xmm0\n"
        "    stretch movups (%rdi), %xmm0\n"
        "    stretch movups %xmm0, (%rdi)\n"
        "    stretch cvtsi2sdl (%rdi), %xmm1\n"
        "    stretch pinsrw $1, (%rdi), %xmm1\n"
        "    stretch fldl (%rdi)\n"
        "    stretch fldt (%rdi)\n"
        "    stretch fxsave (%rdi)\n"
        "    stretch fxrstor (%rdi)\n"
        "    stretch lock incl (%rdi)\n"
        "    ret\n"
        ".size walk, . - walk\n");

int main(void)
{
    static char room[32] __attribute__((aligned(16)));

    handle_signal(SIGSEGV_NUMBER, go_on, 0);
    __asm__ volatile("movabs $0x123456789abcdef0, %%r8" ::: "r8");
    walk((void *)16, room);
    return wrong;
}

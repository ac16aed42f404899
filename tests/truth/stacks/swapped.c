/*
 * Stacks that take turns at one place, as greenlets do: a switch copies the stack that is left to
 * the heap and the one that goes on back. first() and second() wait in the same call at the same
 * depth, so that return addresses and stack pointers are the same; third() waits deeper. Each hangs
 * below whoever started it, though third() goes on from elsewhere.
 *
 * build: freestanding
 * oracle: total
 * below main:
 *     main *
 *     main;start *
 *     main;start;swap *
 *     main;start;swap;save *
 *     main;start;first *
 *     main;start;first;of_first *
 *     main;start;first;pause *
 *     main;start;first;pause;swap *
 *     main;start;first;pause;swap;save *
 *     main;start;first;pause;swap;restore *
 *     main;start;second *
 *     main;start;second;of_second *
 *     main;start;second;pause *
 *     main;start;second;pause;swap *
 *     main;start;second;pause;swap;save *
 *     main;start;second;pause;swap;restore *
 *     main;start;third *
 *     main;start;third;third *
 *     main;start;third;third;of_third *
 *     main;start;third;third;pause *
 *     main;start;third;third;pause;swap *
 *     main;start;third;third;pause;swap;save *
 *     main;start;third;third;pause;swap;restore *
 *     main;resume *
 *     main;resume;swap *
 *     main;resume;swap;save *
 *     main;resume;swap;restore *
 *     main;elsewhere *
 *     main;elsewhere;resume *
 *     main;elsewhere;resume;swap *
 *     main;elsewhere;resume;swap;save *
 *     main;elsewhere;resume;swap;restore *
 *     main;of_main 8
 */
#include "freestanding.h"

enum { ROOM = 4096, TURNS = 5 };

struct turn {
    char *sp, *end; /* its part of the stack; end 0: not started */
    char copy[ROOM];
};

static struct turn of_everyone, turns[3];
static struct turn *running = &of_everyone;

static void copy_bytes(char *to, const char *from, long count)
{
    for (long i = 0; i < count; i++)
        to[i] = from[i];
}

/* How far the stack pointer has to move; 1 if there is nowhere to go yet. */
__attribute__((used, noinline)) long save(struct turn *from, struct turn *to, char *sp)
{
    from->sp = sp;
    copy_bytes(from->copy, sp, from->end - sp);
    running = to;
    return to->end ? to->sp - sp : 1;
}

__attribute__((used, noinline)) void restore(void)
{
    copy_bytes(running->sp, running->copy, running->end - running->sp);
}

/* 1 if `to` is to be started, 0 when `from` goes on. */
long swap(struct turn *from, struct turn *to);
__asm__(".type swap, @function\n"
        "swap:\n\t"
        "push %rbp\n\t"
        "push %rbx\n\t"
        "mov %rsp, %rdx\n\t"
        "call save\n\t"
        "cmp $1, %rax\n\t"
        "je 1f\n\t"
        "add %rax, %rsp\n\t"
        "add %rax, %rbp\n\t"
        "call restore\n\t"
        "xor %eax, %eax\n"
        "1:\n\t"
        "pop %rbx\n\t"
        "pop %rbp\n\t"
        "ret\n"
        ".size swap, . - swap\n");

NOINLINE void pause(void)
{
    swap(running, &of_everyone);
    sink++;
}

NOINLINE void of_first(void)
{
    sink++;
}
NOINLINE void of_second(void)
{
    sink++;
}
NOINLINE void of_third(void)
{
    sink++;
}
NOINLINE void of_main(void)
{
    sink++;
}

NOINLINE void first(int depth)
{
    for (;;) {
        of_first();
        pause();
        sink += depth;
    }
}

NOINLINE void second(int depth)
{
    for (;;) {
        of_second();
        pause();
        sink += depth;
    }
}

NOINLINE void third(int depth)
{
    if (depth)
        third(depth - 1);
    for (;;) {
        of_third();
        pause();
        sink += depth;
    }
}

NOINLINE void start(struct turn *turn, void (*body)(int))
{
    if (swap(&of_everyone, turn)) {
        turn->end = __builtin_frame_address(0);
        body(1);
    }
    sink++;
}

NOINLINE void resume(struct turn *turn)
{
    swap(&of_everyone, turn);
    sink++;
}

NOINLINE void elsewhere(void)
{
    resume(&turns[2]);
    sink++;
}

int main(void)
{
    of_everyone.end = __builtin_frame_address(0);
    start(&turns[0], first);
    start(&turns[1], second);
    start(&turns[2], third);
    of_main();
    for (int i = 0; i < TURNS; i++) {
        resume(&turns[i % 2]);
        resume(&turns[i * 2 % 3 == 2]);
        elsewhere();
    }
    of_main();
    return 0;
}

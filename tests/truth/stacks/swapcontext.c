/*
 * Coroutines of the C library that interleave, on stacks from malloc, from mmap and in an array.
 * Each has its own root and is entered once, however often it is resumed.
 *
 * build: static
 * record: --start=off
 * paths:
 *     main;swapcontext
 *     body;swapcontext
 *     body;deeper;swapcontext
 *     body;deeper;leaf
 *     body;leaf
 *     main;leaf
 * never:
 *     main;body
 *     swapcontext;body
 *     swapcontext;main
 *     swapcontext;leaf
 *     swapcontext;deeper
 *     body;body
 *     main;deeper
 *     deeper;main
 *     body;main
 */
#define _GNU_SOURCE
#include <trueflame/trueflame.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { COROUTINES = 3, STACK_BYTES = 65536 };

static volatile unsigned long sink;
static ucontext_t of_main, of_body[COROUTINES];
static char array[STACK_BYTES];
#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void deeper(int number)
{
    leaf();
    swapcontext(&of_body[number], &of_main);
    leaf();
    swapcontext(&of_body[number], &of_main);
    sink++;
}

NOINLINE void body(int number)
{
    for (;;) {
        deeper(number);
        leaf();
        swapcontext(&of_body[number], &of_main);
    }
}

static void prepare(int number, void *stack)
{
    getcontext(&of_body[number]);
    of_body[number].uc_stack.ss_sp = stack;
    of_body[number].uc_stack.ss_size = STACK_BYTES;
    makecontext(&of_body[number], (void (*)(void))body, 1, number);
}

int main(void)
{
    prepare(0, malloc(STACK_BYTES));
    prepare(1, mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    prepare(2, array);
    TRUEFLAME_START();
    for (int turn = 0; turn < 5; turn++)
        for (int number = 0; number < COROUTINES; number++) {
            swapcontext(&of_main, &of_body[number]);
            leaf();
        }
    TRUEFLAME_STOP();
    return 0;
}

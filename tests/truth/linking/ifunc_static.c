/*
 * A function chosen when the program starts, called through the table of a static program: the
 * stub in between belongs to the caller, and the name is that of the function that runs.
 *
 * build: static
 * record: --start=off
 * below main:
 *     main *
 *     main;caller *
 *     main;caller;chosen_variant *
 *     main;jumper *
 *     main;chosen_variant *
 */
#include <trueflame/trueflame.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;

NOINLINE void chosen_variant(void)
{
    sink++;
}

NOINLINE void other_variant(void)
{
    sink += 2;
}

static void (*choose(void))(void)
{
    return sink == 0 ? chosen_variant : other_variant;
}

void work(void) __attribute__((ifunc("choose")));

NOINLINE void caller(void)
{
    work();
    sink++;
}

NOINLINE void jumper(void)
{
    sink++;
    work(); /* a tail call through the stub */
}

int main(void)
{
    TRUEFLAME_START();
    caller();
    work();
    jumper();
    TRUEFLAME_STOP();
    return 0;
}

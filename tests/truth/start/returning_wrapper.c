/*
 * Recording is switched on in a wrapper three calls deep that then returns. It and its wrappers
 * leave the path as they return: what main calls next has main as its only caller.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start 3
 *     _start;main *
 *     _start;main;outermost *
 *     _start;main;outermost;middle *
 *     _start;main;outermost;middle;innermost *
 *     _start;main;work *
 *     _start;main;work;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void innermost(void)
{
    TRUEFLAME_START();
    sink++;
}

NOINLINE void middle(void)
{
    innermost();
    sink++;
}

NOINLINE void outermost(void)
{
    middle();
    sink++;
}

NOINLINE void work(void)
{
    leaf();
    sink++;
}

int main(void)
{
    work(); /* unrecorded */
    outermost();
    work();
    return 0;
}

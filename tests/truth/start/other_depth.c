/*
 * On, off and on again, each time at another depth, up and down; toggled, too.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start;main *
 *     _start;main;outer *
 *     _start;main;outer;leaf 2
 *     _start;main;outer;inner *
 *     _start;main;outer;inner;leaf 6
 *     _start;main;toggler *
 *     _start;main;toggler;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void inner(void)
{
    leaf(); /* 1 */
    TRUEFLAME_STOP();
    leaf();
    TRUEFLAME_START();
    leaf(); /* 2 */
    leaf(); /* 3 */
    sink++;
}

NOINLINE void outer(void)
{
    leaf();
    TRUEFLAME_START();
    inner();
    leaf(); /* 1 */
    TRUEFLAME_STOP();
    leaf();
}

NOINLINE void toggler(void)
{
    TRUEFLAME_TOGGLE();
    leaf(); /* 1 */
    sink++;
}

int main(void)
{
    outer();
    leaf();
    toggler();
    sink++;
    TRUEFLAME_TOGGLE();
    leaf();
    return 0;
}

/*
 * ZERO forgets what was recorded since the last dump, and nothing about where the program is.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;kept *
 *     _start;main;kept;leaf 4
 *     _start;main;middle *
 *     _start;main;middle;leaf 2
 *     _start;main;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void kept(void)
{
    leaf();
    leaf();
    sink++;
}

NOINLINE void forgotten(void)
{
    leaf();
    sink++;
}

NOINLINE void middle(void)
{
    leaf();
    TRUEFLAME_ZERO();
    leaf();
    sink++;
}

int main(void)
{
    kept();
    TRUEFLAME_DUMP("kept");
    forgotten();
    middle();
    leaf();
    return 0;
}

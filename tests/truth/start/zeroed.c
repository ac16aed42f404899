/*
 * ZERO forgets what was recorded so far, and nothing about where the program is.
 *
 * build: freestanding
 * tree:
 *     _start 3
 *     _start;main *
 *     _start;main;middle *
 *     _start;main;middle;leaf 2
 *     _start;main;leaf 2
 */
#include "freestanding.h"
#include "requests.h"

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

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
    forgotten();
    middle();
    leaf();
    return 0;
}

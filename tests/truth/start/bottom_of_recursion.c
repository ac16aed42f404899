/*
 * Recording is switched on at the bottom of a recursion that began unrecorded: each return lands
 * on the true frame, with its full path.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start 3
 *     _start;main *
 *     _start;main;descend *
 *     _start;main;descend;leaf 2
 *     _start;main;descend;descend *
 *     _start;main;descend;descend;leaf 2
 *     _start;main;descend;descend;descend *
 *     _start;main;descend;descend;descend;leaf 2
 *     _start;main;descend;descend;descend;descend *
 *     _start;main;descend;descend;descend;descend;leaf 2
 *     _start;main;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void descend(int depth)
{
    leaf(); /* unrecorded on the way down */
    if (depth == 0)
        TRUEFLAME_START();
    else
        descend(depth - 1);
    leaf();
    sink++;
}

int main(void)
{
    descend(3);
    leaf();
    return 0;
}

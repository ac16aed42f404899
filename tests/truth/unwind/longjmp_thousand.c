/*
 * longjmp over 1,000 frames at once: all of them are gone, and what is called next is main's.
 * Done twice, the second time from the middle of frames that were made anew.
 *
 * build: freestanding
 * below leaf:
 *     leaf *
 * paths:
 *     _start;main;leaf
 *     descend;descend;descend;long_jump
 *     _start;main;set_jump
 * never:
 *     descend;leaf
 *     descend;set_jump
 *     long_jump;leaf
 *     long_jump;main
 */
#include "freestanding.h"

static jump_point point;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void descend(int depth)
{
    if (depth == 0)
        long_jump(point, 1);
    descend(depth - 1);
    sink++;
}

int main(void)
{
    if (set_jump(point) == 0)
        descend(999);
    leaf();
    if (set_jump(point) == 0)
        descend(999);
    leaf();
    return 0;
}

/*
 * longjmp to a frame in the middle of the stack, which then goes on, calls and returns: the frames
 * above it are still there, those below it are not.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;outer *
 *     _start;main;outer;middle *
 *     _start;main;outer;middle;set_jump 12
 *     _start;main;outer;middle;inner *
 *     _start;main;outer;middle;inner;innermost *
 *     _start;main;outer;middle;inner;innermost;long_jump 9
 *     _start;main;outer;middle;leaf *
 *     _start;main;outer;leaf *
 *     _start;main;leaf *
 */
#include "freestanding.h"

static jump_point point;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void innermost(void)
{
    long_jump(point, 1);
}

NOINLINE void inner(void)
{
    innermost();
    sink++;
}

NOINLINE void middle(void)
{
    if (set_jump(point) == 0)
        inner();
    leaf();
    sink++;
}

NOINLINE void outer(void)
{
    middle();
    leaf();
    sink++;
}

int main(void)
{
    outer();
    leaf();
    return 0;
}

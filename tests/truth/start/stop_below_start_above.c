/*
 * Off deep in the stack, on again in the function that started it all, after the frames in
 * between returned unrecorded or were jumped over: they are not in the path any more.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;outer *
 *     _start;main;outer;inner *
 *     _start;main;leaf 4
 *     _start;main;set_jump 12
 *     _start;main;jumper *
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

static jump_point point;

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void inner(void)
{
    sink++;
    TRUEFLAME_STOP();
    leaf();
}

NOINLINE void outer(void)
{
    inner();
    leaf();
    sink++;
}

NOINLINE void jumper(void)
{
    TRUEFLAME_STOP();
    long_jump(point, 1);
}

int main(void)
{
    outer();
    TRUEFLAME_START();
    leaf();
    if (set_jump(point) == 0)
        jumper();
    TRUEFLAME_START();
    leaf();
    return 0;
}

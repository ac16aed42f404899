/*
 * The C library's longjmp, whose target address is mangled, over one frame and over many.
 *
 * build: static
 * record: --start=off
 * paths:
 *     main;thrower
 *     main;descend;descend;descend
 *     main;leaf
 * never:
 *     thrower;leaf
 *     descend;leaf
 *     thrower;main
 *     descend;main
 *     __longjmp;leaf
 *     __longjmp;main
 *     descend;thrower
 */
#include <trueflame/trueflame.h>
#include <setjmp.h>

static volatile unsigned long sink;
static jmp_buf point;
#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void thrower(void)
{
    longjmp(point, 1);
}

NOINLINE void descend(int depth)
{
    if (depth == 0)
        longjmp(point, 1);
    descend(depth - 1);
    sink++;
}

int main(void)
{
    TRUEFLAME_START();
    if (setjmp(point) == 0)
        thrower();
    leaf();
    if (setjmp(point) == 0)
        descend(100);
    leaf();
    TRUEFLAME_STOP();
    return 0;
}

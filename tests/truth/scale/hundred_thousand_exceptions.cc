/*
 * A hundred thousand exceptions, through two frames each.
 *
 * build: dynamic
 * paths:
 *     main;catcher;middle;thrower;__cxa_throw
 *     main;catcher;__cxa_begin_catch
 *     main;leaf
 * never:
 *     catcher;catcher
 *     thrower;leaf
 *     catcher;leaf
 *     thrower;catcher
 *     _Unwind_RaiseException;catcher
 */
#include <cstdio>

static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline, noclone, noipa))

extern "C" {
NOINLINE void leaf()
{
    sink = sink + 1;
}

NOINLINE void thrower()
{
    throw 1;
}

NOINLINE void middle()
{
    thrower();
    sink = sink + 1;
}

NOINLINE void catcher()
{
    try {
        middle();
    } catch (int value) {
        sink = sink + value;
    }
}
}

int main()
{
    for (int i = 0; i < 100000; i++) {
        catcher();
        leaf();
    }
    std::printf("%lu\n", (unsigned long)sink);
}

/*
 * A C++ exception caught two frames up, and what runs after it.
 *
 * build: static
 * record: --start=off
 * paths:
 *     main;catcher;middle;thrower;leaf
 *     main;catcher;middle;thrower;__cxa_throw;_Unwind_RaiseException
 *     main;catcher;__cxa_begin_catch
 *     main;catcher;leaf
 *     main;leaf
 * never:
 *     thrower;catcher
 *     middle;catcher
 *     _Unwind_RaiseException;catcher
 *     _Unwind_RaiseException;main
 *     _Unwind_Resume
 *     thrower;__cxa_begin_catch
 *     middle;leaf
 *     __cxa_throw;leaf
 */
#include <trueflame/trueflame.h>

static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline, noclone, noipa))

extern "C" {
NOINLINE void leaf()
{
    sink = sink + 1;
}

NOINLINE void thrower()
{
    leaf();
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
    leaf();
    sink = sink + 1;
}
}

int main()
{
    catcher(); /* once unrecorded, so that lazy set-up is done */
    TRUEFLAME_START();
    for (int i = 0; i < 3; i++) {
        catcher();
        leaf();
    }
    TRUEFLAME_STOP();
}

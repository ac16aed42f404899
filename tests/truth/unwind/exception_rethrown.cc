/*
 * An exception caught, rethrown, and caught again further up.
 *
 * build: static
 * record: --start=off
 * paths:
 *     main;outer;inner;thrower;__cxa_throw
 *     main;outer;inner;__cxa_begin_catch
 *     main;outer;inner;leaf
 *     main;outer;inner;__cxa_rethrow
 *     main;outer;__cxa_begin_catch
 *     main;outer;leaf
 *     main;leaf
 * never:
 *     thrower;inner
 *     thrower;leaf
 *     inner;outer
 *     __cxa_rethrow;leaf
 *     inner;inner
 *     outer;outer
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
    throw 1;
}

NOINLINE void inner()
{
    try {
        thrower();
    } catch (int) {
        leaf();
        throw;
    }
    sink = sink + 1;
}

NOINLINE void outer()
{
    try {
        inner();
    } catch (int value) {
        leaf();
        sink = sink + value;
    }
    sink = sink + 1;
}
}

int main()
{
    outer();
    TRUEFLAME_START();
    outer();
    leaf();
    TRUEFLAME_STOP();
}

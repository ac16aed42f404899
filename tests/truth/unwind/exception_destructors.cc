/*
 * An exception through frames with destructors: they run under the frames whose objects they
 * clean up, not under the thrower.
 *
 * build: static
 * record: --start=off
 * paths:
 *     main;catcher;upper;lower;thrower;__cxa_throw
 *     main;catcher;upper;lower;cleaned
 *     main;catcher;upper;lower;_Unwind_Resume
 *     main;catcher;upper;cleaned
 *     main;catcher;upper;_Unwind_Resume
 *     main;catcher;__cxa_begin_catch
 *     main;leaf
 * never:
 *     thrower;cleaned
 *     __cxa_throw;cleaned
 *     _Unwind_Resume;cleaned
 *     lower;upper
 *     upper;catcher
 *     _Unwind_Resume;upper
 */
#include <trueflame/trueflame.h>

static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline, noclone, noipa))

extern "C" {
NOINLINE void leaf()
{
    sink = sink + 1;
}

NOINLINE void cleaned()
{
    sink = sink + 1;
}
}

struct object {
    ~object()
    {
        cleaned();
    }
};

extern "C" {
NOINLINE void thrower()
{
    throw 1;
}

NOINLINE void lower()
{
    object mine;
    thrower();
    sink = sink + 1;
}

NOINLINE void upper()
{
    object mine;
    lower();
    sink = sink + 1;
}

NOINLINE void catcher()
{
    try {
        upper();
    } catch (int value) {
        sink = sink + value;
    }
    sink = sink + 1;
}
}

int main()
{
    catcher();
    TRUEFLAME_START();
    catcher();
    leaf();
    TRUEFLAME_STOP();
}

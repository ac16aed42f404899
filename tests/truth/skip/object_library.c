/* A library that is skipped as a whole. */
#include <trueflame/trueflame.h>

static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE static void inside(void)
{
    sink++;
}

void object_call(void (*callback)(void));
void object_call(void (*callback)(void))
{
    inside();
    callback();
    inside();
}

void object_start(void (*callback)(void));
void object_start(void (*callback)(void))
{
    inside();
    TRUEFLAME_START();
    inside();
    callback();
    inside();
}

void object_deep(int depth, void (*callback)(void));
void object_deep(int depth, void (*callback)(void))
{
    if (depth)
        object_deep(depth - 1, callback);
    else
        object_start(callback);
    inside();
}

void object_tail(void (*callback)(void));
void object_tail(void (*callback)(void))
{
    inside();
    callback(); /* a jump out of the library */
}

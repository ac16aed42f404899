/*
 * Recording is switched on inside a skipped library, at the bottom of its recursion: nothing of it
 * leaks, each of its returns gives to main, and main is not lost when the library has returned.
 *
 * build: dynamic -Wl,-z,now
 * with: libskipped.so = object_library.c -Wl,-z,now
 * link: libskipped.so
 * record: --start=off
 * paths:
 *     main;object_deep;object_deep;object_deep;object_start;callback
 *     main;object_deep;object_deep;object_deep;object_start;inside
 *     main;object_deep;object_deep;inside
 *     main;leaf
 * below main --skip-object=*libskipped.so:
 *     main *
 *     main;callback *
 *     main;callback;leaf *
 *     main;leaf *
 */
#include <trueflame/trueflame.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

void object_deep(int depth, void (*callback)(void));

static volatile unsigned long sink;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void callback(void)
{
    leaf();
    sink++;
}

int main(void)
{
    object_deep(2, callback);
    leaf();
    TRUEFLAME_STOP();
    return 0;
}

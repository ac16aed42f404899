/*
 * A library skipped as a whole: its cost goes to whoever called into it, what it calls back stands
 * directly below that, whether called or jumped to.
 *
 * build: dynamic -Wl,-z,now
 * with: libskipped.so = object_library.c -Wl,-z,now
 * link: libskipped.so
 * record: --start=off
 * below main:
 *     main *
 *     main;object_call *
 *     main;object_call;inside *
 *     main;object_call;callback *
 *     main;object_tail *
 *     main;object_tail;inside *
 *     main;callback *
 *     main;jumper *
 *     main;inside *
 * below main --skip-object=*libskipped.so:
 *     main *
 *     main;callback *
 *     main;jumper *
 */
#include <trueflame/trueflame.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

void object_call(void (*callback)(void));
void object_tail(void (*callback)(void));

static volatile unsigned long sink;

NOINLINE void callback(void)
{
    sink++;
}

NOINLINE void jumper(void (*function)(void))
{
    sink++;
    object_call(function); /* a jump into the library */
}

int main(void)
{
    TRUEFLAME_START();
    object_call(callback);
    object_tail(callback);
    jumper(callback);
    TRUEFLAME_STOP();
    return 0;
}

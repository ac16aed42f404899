/*
 * The program itself asks for a library to be skipped, before it calls it.
 *
 * build: dynamic -Wl,-z,now
 * with: libskipped.so = object_library.c -Wl,-z,now
 * link: libskipped.so
 * record: --start=off
 * below main:
 *     main *
 *     main;callback *
 */
#define _GNU_SOURCE
#include <trueflame/trueflame.h>
#include <dlfcn.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

void object_call(void (*callback)(void));

static volatile unsigned long sink;

NOINLINE void callback(void)
{
    sink++;
}

int main(void)
{
    Dl_info information;
    char path[4096];
    if (!dladdr((void *)object_call, &information) || !realpath(information.dli_fname, path))
        return 1;
    TRUEFLAME_SKIP_OBJECT(path);
    TRUEFLAME_START();
    object_call(callback);
    TRUEFLAME_STOP();
    return 0;
}

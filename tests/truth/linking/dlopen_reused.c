/*
 * A library is loaded, used and unloaded, and another one is loaded at the same address: each part
 * of the run has the names of the code that was there.
 *
 * build: dynamic
 * libs: -ldl
 * with: libfirst.so = first_library.c
 * with: libsecond.so = second_library.c
 * paths:
 *     main;use;enter;first_only
 *     main;use;enter;second_only
 *     main;use;enter;plugin;callback
 *     main;callback
 * never:
 *     first_only;callback
 *     second_only;callback
 *     first_only;second_only
 *     second_only;first_only
 */
#include <dlfcn.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;

NOINLINE void callback(void)
{
    sink++;
}

/* Where the library was; 0 when it could not be loaded. */
NOINLINE unsigned long use(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle)
        return 0;
    void (*enter)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(handle, "enter");
    enter(callback);
    dlclose(handle);
    return (unsigned long)enter & ~0xffful;
}

int main(void)
{
    unsigned long first = use("./libfirst.so"), second = use("./libsecond.so");
    callback();
    puts(first && first == second ? "same address" : "another address");
    return 0;
}

/*
 * The same two libraries are loaded, used and unloaded forty times in turn, mostly where they were
 * before, then by four threads at once: two hundred times two instructions of each.
 *
 * build: dynamic
 * libs: -ldl -pthread
 * with: libfirst.so = first_library.c
 * with: libsecond.so = second_library.c
 * repeatable: no
 * below first_only:
 *     first_only 400
 * below second_only:
 *     second_only 400
 * paths:
 *     main;use;enter;first_only
 *     main;use;enter;second_only
 *     thread;use;enter;first_only
 *     thread;use;enter;second_only
 * never:
 *     first_only;second_only
 *     second_only;first_only
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE void callback(void)
{
}

NOINLINE void use(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle)
        abort();
    void (*enter)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(handle, "enter");
    enter(callback);
    dlclose(handle);
}

NOINLINE void *thread(void *nothing)
{
    for (int i = 0; i < 40; i++) {
        use("./libfirst.so");
        use("./libsecond.so");
    }
    return nothing;
}

int main(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 40; i++) {
        use("./libfirst.so");
        use("./libsecond.so");
    }
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

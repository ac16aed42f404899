#include "python/headroom.h"

#include <pthread.h>
#include <stdint.h>

/* What must be left for 400 lent calls of Python (about 500 bytes each), and for C code that counts
 * on the limit to keep it within what was there before. */
#define RESERVE_BYTES (1024 * 1024)

static __thread struct {
    uintptr_t lowest, end; /* 0, 0: not asked yet; 1, 1: the system does not say */
} stack;

static void find_stack(void)
{
    pthread_attr_t attributes;
    void *address;
    size_t size_bytes;

    stack.lowest = stack.end = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &address, &size_bytes) == 0) {
        stack.lowest = (uintptr_t)address;
        stack.end = stack.lowest + size_bytes;
    }
    pthread_attr_destroy(&attributes);
}

bool headroom_has_stack(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (!stack.end)
        find_stack();
    /* On a stack that is not the thread's own (coroutines) nothing is known, so nothing is lent. */
    return here > stack.lowest && here < stack.end && here - stack.lowest > RESERVE_BYTES;
}

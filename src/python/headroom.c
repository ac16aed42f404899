#include "python/headroom.h"

#include <pthread.h>
#include <stdint.h>

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

static bool is_on_stack(uintptr_t here)
{
    if (!stack.end)
        find_stack();
    return here > stack.lowest && here < stack.end;
}

bool headroom_has_stack(size_t reserve_bytes)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return is_on_stack(here) && here - stack.lowest > reserve_bytes;
}

bool headroom_may_have_stack(size_t reserve_bytes)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return !is_on_stack(here) || here - stack.lowest > reserve_bytes;
}

/*
 * grow.h: arrays that double when they are full.
 */
#ifndef TRUEFLAME_CORE_GROW_H
#define TRUEFLAME_CORE_GROW_H

#include "core/platform.h"

/* Makes room for one more item behind the first `count`; the array begins with room for `first`. All
 * but `first` are places that are set. */
#define GROW(items, count, capacity, first)                                                        \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            size_t more = (capacity) ? 2 * (size_t)(capacity) : (first);                           \
            (items) = grow_array((items), (capacity), more, sizeof *(items));                      \
            (capacity) = more;                                                                     \
        }                                                                                          \
    } while (0)

static inline void *grow_array(const void *items, size_t count, size_t capacity, size_t item_bytes)
{
    void *larger = platform_allocate(capacity * item_bytes);

    if (count) {
        __builtin_memcpy(larger, items, count * item_bytes);
        platform_release((void *)items, count * item_bytes);
    }
    return larger;
}

#endif

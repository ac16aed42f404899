/*
 * memory.h: allocation that does not fail, and growing arrays.
 *
 * trueflame's host programs hold one profile and then exit: when memory runs out there is nothing
 * better to do than to say so and stop, so these functions never return NULL.
 */
#ifndef TRUEFLAME_MEMORY_H
#define TRUEFLAME_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *memory_allocate(size_t size_bytes); /* uninitialised */
void *memory_allocate_zeroed(size_t count, size_t size_bytes);
void *memory_resize(void *old, size_t size_bytes);
void *memory_check(void *memory); /* of another's allocation: what it gave, if it gave any */
char *memory_duplicate_string(const char *text);
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Doubles `*capacity` until it holds `needed` elements; returns the (moved) array. */
void *memory_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes);

/* array_push(items, count, capacity) makes room for one more and evaluates to its address. */
#define array_push(items, count, capacity)                                                         \
    ((items) = memory_grow((items), &(capacity), (size_t)(count) + 1, sizeof *(items)),            \
     &(items)[(count)++])

#endif

/*
 * sort.h: sorts an array in place, for a core that has no qsort.
 *
 * Heap sort: no recursion, no memory, n log n on any input; and symbol tables are hostile input.
 */
#ifndef TRUEFLAME_CORE_SORT_H
#define TRUEFLAME_CORE_SORT_H

#include <stdbool.h>
#include <stddef.h>

void sort_items(void *items, size_t count, size_t item_bytes,
                bool (*before)(const void *a, const void *b));

#endif

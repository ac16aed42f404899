/*
 * sort.h: sorts an array, for a core that has no qsort.
 *
 * Merge sort from the bottom up: no recursion, n log n on any input, which matters because symbol
 * tables are hostile input; and quick on tables that are sorted already, as most are in long runs.
 * Stable. Takes as much memory again while it runs.
 */
#ifndef TRUEFLAME_CORE_SORT_H
#define TRUEFLAME_CORE_SORT_H

#include <stdbool.h>
#include <stddef.h>

void sort_items(void *items, size_t count, size_t item_bytes,
                bool (*before)(const void *a, const void *b));

#endif

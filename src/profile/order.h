/*
 * order.h: rows of (context, block, count) in their order, one for each pair.
 */
#ifndef TRUEFLAME_PROFILE_ORDER_H
#define TRUEFLAME_PROFILE_ORDER_H

#include "profile/profile.h"

/* Sorts by context, then by block, and joins rows of the same pair. Contexts are below
 * `context_count`. Returns how many rows are left. */
size_t order_counts(struct block_count *rows, size_t count, size_t context_count);

/* The same for rows that are dealt out by context already, and do not say whose they are: those of
 * context i end at ends[i]. */
size_t order_dealt(struct block_count *rows, const size_t *ends, size_t context_count);

#endif

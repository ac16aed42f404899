/*
 * counters.h: what a block's execution adds to.
 *
 * At function detail that is the current context's own counter. At line detail it is one of
 * (context, block): counters of blocks with neighbouring numbers, which were first executed one
 * after the other, lie side by side in a group, behind one key:
 *
 *     key   = context.key + 64 * (block / 7)
 *     group = groups[key / 64 % GROUPS]
 *     hit   : group.key == key    ->  group.counts[block % 7] += 1
 *     miss  : slow_count, which adds the old group's counts to the core's and begins a new one
 *
 * A group is a cache line, and context.key spreads contexts over the cache. It is large (8 MB, used
 * as far as the program needs it) because a miss costs as much as a hundred hits.
 */
#ifndef TRUEFLAME_VALGRIND_COUNTERS_H
#define TRUEFLAME_VALGRIND_COUNTERS_H

#include "plan.h"

/* Writes inline code that adds `times` (the constant 1, or a condition widened) executions of
 * `segment` in `current`. */
void counters_emit(const struct block_info *info, const struct segment *segment, IRExpr *current,
                   IRExpr *times);

void counters_add(const struct context *context, uint32_t block, int64_t times);
/* How often `context` executed the block. */
uint64_t counters_get(const struct context *context, uint32_t block);

/* Moves everything to core.counts. */
void counters_flush(void);

#endif

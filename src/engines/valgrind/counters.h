/*
 * counters.h: what a block's execution adds to.
 *
 * At function detail that is the current context's own counter. At line detail it is one of
 * (context, block): counters of blocks with neighbouring numbers, which were first executed one
 * after the other, lie side by side in a group, behind one key:
 *
 *     key   = context.key + 64 * (block / 14)
 *     group = groups[key / 64 % GROUPS]
 *     hit   : group.key == key    ->  group.counts[block % 14] += 1
 *     miss  : slow_count, which adds the old group's counts to the core's and begins a new one
 *
 * A group is a cache line, and context.key spreads contexts over the cache. It is large (8 MB, used
 * as far as the program needs it) because a miss costs as much as a hundred hits.
 *
 * A count is half a word, so that a context needs few of those lines: what it costs to count where many
 * contexts take turns is mostly waiting for them. No block adds more than one to a counter each time
 * that it runs, so before one of them can be full all are moved to the core (counters_keep_room).
 *
 * Nobody asks which of the evaluator's own lines ran for which Python line. So its blocks are counted
 * for the Python function (context.counters has its key, there and in its lines), whichever line is
 * current; and of the context that is current it is counted how many of their instructions ran, in its
 * .calls, since nobody calls a line. When another line begins, what is left of the segment goes from
 * one to the other. Of contexts that are no lines it is taken out again on the way to the core,
 * where what a line has is a row of block 0 (core/counts.h).
 */
#ifndef TRUEFLAME_VALGRIND_COUNTERS_H
#define TRUEFLAME_VALGRIND_COUNTERS_H

#include "plan.h"

/* Writes inline code that adds `times` (the constant 1, or a condition widened) executions of
 * `segment` in `current`. `evaluated`: it is CPython's evaluator's, and Python's lines are asked for. */
void counters_emit(const struct block_info *info, const struct segment *segment, IRExpr *current,
                   IRExpr *times, Bool evaluated);

/* A new context: where it counts. */
void counters_context_made(struct context *context);

void counters_add(struct context *context, uint32_t block, int64_t times);
/* Is the block counted for the function whose line is current? Then so is one that is a part of it. */
Bool counters_is_evaluated(uint32_t block);
void counters_set_evaluated(uint32_t block, Bool evaluated);
/* How often `context` executed the block. */
uint64_t counters_get(const struct context *context, uint32_t block);

/* Moves everything to core.counts. */
void counters_flush(void);
/* The same if so many blocks have run since that a counter could get full. `blocks`: that have run in all;
 * to be asked each time that Valgrind begins to run some. */
void counters_keep_room(ULong blocks);

#endif

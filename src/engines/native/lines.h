/*
 * lines.h: the line detail: how often each context ran each segment of each block.
 *
 * A thread has a table of counters, found by (context, segment) as fast.c finds children; a pair
 * that is not there leaves the cache, and the counter it pushes out is added to the core's.
 */
#ifndef TRUEFLAME_NATIVE_LINES_H
#define TRUEFLAME_NATIVE_LINES_H

#include "engines/native/emit.h"
#include "engines/native/thread.h"

struct line_slot {
    uint64_t key;   /* context.key + number of the core's block */
    uint64_t count;
};

#define LINE_SLOTS 32768

/* Counts one run of `segment` (the core's number) in the current context. `flags`: they are live.
 * `exit_id`: taken on a miss; the sequence is begun again afterwards. */
void lines_emit_count(struct emitter *e, uint32_t segment, bool flags, uint32_t exit_id);

/* The exit was taken: the pair gets its slot. */
void lines_take_slot(struct native_thread *thread, uint32_t segment);

/* All that the thread has counted is in the core. */
void lines_flush(struct native_thread *thread);

/* The segment that was counted ran only for its first `executed` instructions. */
void lines_shorten(struct native_thread *thread, uint32_t segment, unsigned executed);

/* `count` instructions from `pc` on ran, through direct branches. */
void lines_count_path(struct native_thread *thread, uint64_t pc, unsigned count);

#endif

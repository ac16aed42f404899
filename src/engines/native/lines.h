/*
 * lines.h: the line detail: how often each context ran each run of instructions.
 *
 * A run is what a block executes in one go, from where it was last counted to the branch by which
 * it leaves: one counter for all segments that it goes through. A context has counters for the
 * first runs of its function, by their place. For further ones, and for code that is no function,
 * a thread has a table of counters, found by (context, run) as fast.c finds children; a pair that
 * is not there leaves the cache, and the counter it pushes out is added to the core's.
 */
#ifndef TRUEFLAME_NATIVE_LINES_H
#define TRUEFLAME_NATIVE_LINES_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"
#include "engines/native/thread.h"

struct line_slot {
    uint64_t key; /* context.key + number of the core's block */
    uint64_t count;
};

#define LINE_SLOTS 32768

/* Counters of a context. Beyond the first number only in functions with few contexts: CPython's
 * evaluator has thousands of runs and tens of thousands of contexts. */
#define LINE_PLACES         256
#define LINE_PLACES_MAX     8192
#define LINE_LARGE_CONTEXTS 512

struct translation;

/* The core's number of the run from instruction `first` to `end`; that of the PLT stub that is folded
 * into instruction `last`. 0: there is none. */
uint32_t lines_run(const struct translation *t, unsigned first, unsigned end);
uint32_t lines_stub(const struct translation *t, unsigned last);

struct line_count {
    uint32_t number;  /* the core's, of the run */
    uint32_t place;   /* in the contexts of its function, from 1 on; 0: none */
    bool flags;       /* are live */
    uint32_t exit_id; /* taken on a miss; the sequence is begun again afterwards */
    uint64_t miss;
};

/* To count one execution of run `number`, in the current context: emits cold code, so not while
 * another piece of it is being made; then the rest, anywhere. */
struct line_count lines_plan(uint32_t number, struct code_function *function, bool flags,
                             uint32_t exit_id);
void lines_emit(struct emitter *e, const struct line_count *count);

/* The exit was taken: the counter gets its room. `exit` is no row of the cache's, but a copy. */
void lines_take_exit(struct native_thread *thread, const struct exit *exit);

/* All that contexts have counted is in the core. */
void lines_flush_contexts(void);
/* Instructions that contexts have counted since; their threads may go on meanwhile. */
uint64_t lines_beside_contexts(void);

/* All that the thread has counted is in the core. */
void lines_flush(struct native_thread *thread);

/* Only the first `executed` instructions of a run that was not counted yet were executed; of one
 * that was. */
void lines_add_part(struct native_thread *thread, uint32_t run, unsigned executed);
void lines_shorten(struct native_thread *thread, uint32_t run, unsigned executed);

/* `count` instructions from `pc` on ran, through direct branches. */
void lines_count_path(struct native_thread *thread, uint64_t pc, unsigned count);

#endif

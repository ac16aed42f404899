/*
 * lines.h: the line detail: how often each context ran each run of instructions.
 *
 * A run is what a block executes in one go, from where it was last counted to the branch by which
 * it leaves: one counter for all segments that it goes through, and for the PLT stub that a call is
 * made through. A context has counters for the runs of its function, by their place (line_counters.h);
 * the thread knows where the current context's are.
 *
 *   room     a context is made with room for as many runs as a function of that size is likely to
 *            have: they are counted without a question. The more contexts a function has, the less
 *            room further ones get; its blocks are then made anew;
 *   checked  further runs ask whether the context has the counter, and leave the cache where it has
 *            not;
 *   hashed   and for still further ones, and for code that is no function, a thread has a table of
 *            counters, found by (context, run) as fast.c finds children; a pair that is not there
 *            leaves the cache, and the counter it pushes out is added to the core's.
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

struct translation;

/* The core's number of the run from instruction `first` to `end`; that of the PLT stub that is folded
 * into instruction `last`. 0: there is none. */
uint32_t lines_run(const struct translation *t, unsigned first, unsigned end);
uint32_t lines_stub(const struct translation *t, unsigned last);

/* What becomes of the register that holds the counters' address, in extra instructions. */
enum line_borrow {
    BORROW_FREE,    /* its value is not needed any more */
    BORROW_KEPT,    /* but by a handler: it is spilled */
    BORROW_SPILLED, /* spilled, and put back */
};

struct line_count {
    uint32_t number;  /* the core's, of the run */
    uint32_t place;   /* in the contexts of its function, from 1 on; 0: none */
    bool flags;       /* are live */
    bool has_room;    /* in every context */
    uint8_t borrow;   /* enum line_borrow, */
    uint8_t reg;      /* and which */
    bool evaluated;   /* by a Python evaluator: python_counts.h */
    bool is_python;   /* the current context may have changed without a word to the thread */
    uint32_t exit_id; /* taken on a miss; the sequence is begun again afterwards */
    uint64_t miss;
};

/* To count one execution of run `number`, in the current context: emits cold code, so not while
 * another piece of it is being made; then the rest, anywhere. */
struct line_count lines_plan(uint32_t number, struct code_function *function, bool flags,
                             uint32_t exit_id);
void lines_emit(struct emitter *e, const struct line_count *count);

/* Counts in a place for which every context has room. */
void lines_emit_place(struct emitter *e, uint32_t place, bool flags);

/* The same for a run of the block, before its instruction `index`, that ends in PLT stub `stub`, 0 if
 * in none. Where it has no place, the stub is still to be counted. */
struct line_count lines_plan_run(struct translation *t, unsigned index, uint32_t number,
                                 uint32_t stub, bool flags);
bool lines_have_room(const struct translation *t, uint32_t number, uint32_t stub);

/* The same for a run of an evaluator whose frames are watched, where the flags are dead. */
struct line_count lines_plan_evaluated(struct translation *t, unsigned index, uint32_t number,
                                       enum line_borrow borrow, unsigned reg);

/* In the midst of a sequence that has register `reg` free, a run that has room; if it has no place,
 * nothing. In cold code, where flags are live, then on to `to`. */
void lines_emit_folded(struct emitter *e, const struct line_count *count, unsigned reg);
uint64_t lines_cold_folded(const struct line_count *count, uint64_t to);

/* The exit was taken: the counter gets its room, and the sequence is begun again at exit->landing. But
 * that may change. `exit` is no row of the cache's, but a copy. */
void lines_take_exit(struct native_thread *thread, struct exit *exit);

/* All that the thread has counted is in the core. */
void lines_flush(struct native_thread *thread);

/* Only the first `executed` instructions of a run that was not counted yet were executed; of one
 * that was. */
void lines_add_part(struct native_thread *thread, uint32_t run, unsigned executed);
void lines_shorten(struct native_thread *thread, uint32_t run, unsigned executed);

/* `count` instructions from `pc` on ran, through direct branches. */
void lines_count_path(struct native_thread *thread, uint64_t pc, unsigned count);

#endif

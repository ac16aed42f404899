/*
 * python_counts.h: at line detail, what CPython's evaluator runs, by Python function and by line.
 *
 * Nobody asks which of the evaluator's own lines ran for which Python line. So its runs are counted
 * for the function (P below), whichever of its lines is current (L), and of a line it is counted
 * how many instructions ran: a line has no counters of its own.
 *
 *     L ──┐   .calls: instructions, settled there before another context runs. Nobody calls a line
 *     L ──┼─> counters of P ──> places: which of them is which run's
 *     P ──┘
 *
 * Why not by the run alone: an evaluator has thousands of runs, a Python function runs a hundred of
 * them, and by the time that a context runs again its counters are to be fetched anew. So they lie
 * close together, in the order in which the function ran them first, and what says where they are is
 * the function's and not the context's. When a function has run more than there is room for, its
 * contexts get a larger block of counters each, beside the one that they had; lines go on with the
 * old one until a counter is missing there.
 *
 * An evaluator's context that is no line's (its own, in front of the first frame) adds instructions to
 * its .calls all the same, as the code is the same: they are taken out again when what its
 * counters say is taken to the core. There, what a line has is a row of block 0 (core/counts.h).
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_COUNTS_H
#define TRUEFLAME_NATIVE_PYTHON_COUNTS_H

#include "engines/native/lines.h"

/* What a context without counters has. */
struct python_places;
extern struct python_places python_no_places;

/* Is the function's code counted so? Decided when it is asked first, which is before anything of it
 * is counted; then for good. */
bool python_counts_begin(struct code_function *function);
bool python_counts_apply(const struct code_function *function);

/* The part of lines_emit between what is saved and what is restored. Where frames are watched, the
 * line's instructions are a running count (vectors.h): python_counts_settle says before which calls it
 * is to be settled. */
void python_counts_emit(struct emitter *e, const struct line_count *count);
bool python_counts_settle(const struct translation *t);

/* The sequence found no counter for the exit's run, and is to be begun again. True: there never will
 * be one, and the run has been counted. */
bool python_counts_take_exit(struct context *context, const struct exit *exit);

/* `instructions` more, or fewer, are counted past the counters: the key to count them with. */
uint64_t python_counts_key(struct context *context, int64_t instructions);

/* All that the context has counted is in the core. `alone`: see lines.h */
void python_counts_flush(struct context *context, bool alone);
/* Instructions that it has counted since. */
uint64_t python_counts_instructions(const struct context *context);

#endif

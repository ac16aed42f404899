/*
 * python_counts.h: at line detail, what CPython's evaluator runs, by Python function and by line.
 *
 * Nobody asks which of the evaluator's own lines ran for which Python line. So its runs are counted
 * for the function (P below), whichever of its lines is current (L), and of a line it is counted
 * how many instructions ran: a line has no counters of its own.
 *
 *     L ──┐   .calls: instructions, settled there before another context runs. Nobody calls a line
 *     L ──┼─> counters of P, by the place of the run
 *     P ──┘
 *
 * An evaluator has thousands of runs, of which a program runs one or two thousand and a Python
 * function forty. A run gets its place when it runs for the first time, the same in all contexts,
 * and a counter is half a word: so a context has all of them in one page, and a run is counted by
 * two instructions, which lead out of the cache each time that the counter is full.
 *
 *     rax = thread.counters;  [rax + 2 * place] += 1;  zero: EXIT_COUNT
 *
 * A run without a place counts at place 0, which is always full: that is how it gets one. The few
 * that come when the page is taken have theirs in further counters, which a context gets when it
 * runs one of them.
 *
 * An evaluator's context that is no line's (its own, in front of the first frame) adds instructions to
 * its .calls all the same, as the code is the same: they are taken out again when what its
 * counters say is taken to the core. There, what a line has is a row of block 0 (core/counts.h).
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_COUNTS_H
#define TRUEFLAME_NATIVE_PYTHON_COUNTS_H

#include "engines/native/lines.h"

/* Is the function's code counted so? Decided when it is asked first, which is before anything of it
 * is counted; then for good. */
bool python_counts_begin(struct code_function *function);
bool python_counts_apply(const struct code_function *function);

/* A new context, of such a function, of a Python function or of one of its lines, gets its counters. */
void python_counts_context_made(struct context *context);

/* The part of lines_emit between what is saved and what is restored. Where frames are watched, the
 * line's instructions are a running count (vectors.h): python_counts_settle says before which calls it
 * is to be settled. */
void python_counts_emit(struct emitter *e, const struct line_count *count);
bool python_counts_settle(const struct translation *t);

/* The sequence could not count the exit's run in the thread's counters: it is counted now. */
void python_counts_take_exit(struct native_thread *thread, const struct exit *exit);

/* `instructions` more, or fewer, are counted past the counters: the key to count them with. */
uint64_t python_counts_key(struct context *context, int64_t instructions);

/* All that the context has counted is in the core. `alone`: see line_counters.h */
void python_counts_flush(struct context *context, bool alone);
/* Instructions that it has counted since. */
uint64_t python_counts_instructions(const struct context *context);

#endif

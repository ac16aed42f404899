/*
 * python_watch.h: tells the core which Python frame CPython's evaluator executes, and at line detail
 * which line; see core/python.h.
 *
 * The evaluator's first block and its returns say so, and so does the function that ends code
 * objects. The evaluator's blocks look at the
 * current frame where a call has come back and where a store may have changed it (python_stores.h):
 * not at once, as the new frame is not complete then, but before the branch that follows.
 *
 *     rax = *hot.python_word;  compare with hot.python_frame;  another: EXIT_PYTHON_FRAME
 *
 * The branch still counts for the frame that was. Until the word's place is known, each segment
 * begins with a look, by way of the thread state.
 *
 * An instruction that may store the frame's instruction pointer is followed, at line detail, by a
 * look at what it has stored:
 *
 *     below hot.python_line, or not below hot.python_line_end: EXIT_PYTHON_LINE
 *
 * If so, the block is left for one that begins there: most stores stay in their line, and then a
 * run is counted once, as a whole. Stores into anything else than the running frame are passed over: a
 * thread state of 3.11 or 3.12 has a word at the same offset, which the evaluator stores whenever it is
 * called and returns.
 *
 * All these exits are in the middle of engine code. python_fast.h has the code that deals with most
 * of them in the cache.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_WATCH_H
#define TRUEFLAME_NATIVE_PYTHON_WATCH_H

#include "engines/native/translation.h"

/* NULL unless the place is in the evaluator of a CPython whose frames are watched. */
struct python_module *python_watched(const struct code_place *place);

/* Instruction `index` was decoded: it may show where the evaluator has a part that no symbol says
 * is its own. */
void python_note_jump(const struct translation *t, unsigned index);

/* Before the segment that begins with instruction `first`; before instruction `index`, its segment
 * counted or not, into which a PLT stub of so many instructions may be folded; after the last one. */
void python_emit_start(struct translation *t, unsigned first);
void python_emit_before(struct translation *t, unsigned index, unsigned stub);
void python_emit_end(struct translation *t);

/* Is the current frame looked at in that segment? */
bool python_looks(const struct translation *t, unsigned first, unsigned end);

/* After an instruction that may store the instruction pointer, before instruction `next`. */
void python_emit_line_look(struct translation *t, unsigned next);

/* Does the code at `pc` end a code object? It is rdi. */
bool python_ends_code(const struct code_place *place, uint64_t pc);

/* Before that block. */
void python_emit_forget(struct translation *t);

/* One of the exits was taken. */
void python_take_exit(struct native_thread *thread, const struct exit *exit);

/* A call that the cache does not know of has come back to `block`. */
void python_returned(struct native_thread *thread, const struct block *block);

#endif

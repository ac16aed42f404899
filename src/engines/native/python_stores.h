/*
 * python_stores.h: which instructions of CPython's evaluator may change what is watched, see
 * core/python.h: the word with the current frame, and the frame's instruction pointer.
 *
 * An instruction is known by the memory operand that it writes: how large, how far from its base,
 * and from which base. One too many costs a look, one too few a frame.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_STORES_H
#define TRUEFLAME_NATIVE_PYTHON_STORES_H

#include "engines/native/translation.h"

/* Does instruction `index`, which may change the line, end its segment? Otherwise the block is left
 * if it does change (python_emit_line_look). */
bool python_cuts(const struct translation *t, unsigned index);

/* May instruction `index` of a block store the current frame? */
bool python_may_set_frame(const struct translation *t, unsigned index);

/* How many instructions of a block that is cut behind its last one: a frame that is stored may be
 * incomplete there, so that the block ends before that store, and the next one begins with it. */
unsigned python_whole_until(const struct translation *t);

/* Where lines are asked for: may it store a frame's instruction pointer? */
bool python_may_set_line(const struct translation *t, unsigned index);

/* Then: the register that points to that frame, if one does and the pointer is all that is stored;
 * NO_FRAME_REGISTER: none. */
#define NO_FRAME_REGISTER 16
unsigned python_frame_register(const struct translation *t, unsigned index);

#endif

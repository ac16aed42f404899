/*
 * python_watch.h: tells the core which Python frame CPython's evaluator executes; see core/python.h.
 *
 * Blocks of the evaluator look at the frame at the beginning of each segment, before it is counted:
 *
 *     rax = python_state->frame;  compare with hot.python_frame;  another: EXIT_PYTHON_FRAME
 *
 * Its first block and its returns leave the cache to say so. All three are in the middle of engine
 * code: the thread goes on at the exit's `landing`.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_WATCH_H
#define TRUEFLAME_NATIVE_PYTHON_WATCH_H

#include "engines/native/translation.h"

/* NULL unless the place is in the evaluator of a CPython whose frames are watched. */
struct python_module *python_watched(const struct code_place *place);

/* Before the segment that begins with instruction `first`. */
void python_emit_look(struct translation *t, unsigned first);

/* Before the return that is instruction `index`. */
void python_emit_leave(struct translation *t, unsigned index);

/* One of the three exits was taken. */
void python_take_exit(struct native_thread *thread, const struct exit *exit);

#endif

/*
 * python_fast.h: Python frames that come and go without leaving the cache.
 *
 * What core/python.c does when the evaluator is called, runs another frame or returns, for the
 * cases that nearly all of them are; code that all blocks share, one piece for each event:
 *
 *   enter    the running frame is the one that was seen last: a base entry is pushed
 *   frame    the frame before the newest one, in the same activation: back to it. Or one that the
 *            newest one has called, whose code object is known to the thread and whose child
 *            context is in its table of children: an entry is pushed
 *   leave    the newest entries are of this activation, those before them are not: they are popped
 *   line     the newest frame is where it was before, coming from the same line (python_line.h)
 *
 * Everything else is told to the core, by way of thread_leave_inner (entry.S), which saves no more
 * than a call of a C function needs.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_FAST_H
#define TRUEFLAME_NATIVE_PYTHON_FAST_H

#include "engines/native/translation.h"
#include <asm/sigcontext.h>

enum python_event { PYTHON_ENTER, PYTHON_FRAME, PYTHON_LEAVE, PYTHON_LINE, PYTHON_EVENTS };

/* The cache address where `event` is dealt with, for code of `module`. It is gone to with rax, rcx
 * and rdx spilled and the flags free, all that ran counted, and goes on at thread.code, before which
 * stands the number of its exit. PYTHON_FRAME: thread.target is the frame. Emits cold code. */
uint64_t python_fast_code(struct python_module *module, enum python_event event);

/* The same for other events, which are always told. */
uint64_t python_slow_code(void);

/* Emitted once, by fast_init. */
void python_fast_init(void);
void python_fast_init_thread(struct native_thread *thread);

/* A fault while the program's memory was read: the event is told to the core. False: it is
 * another fault. */
bool python_fast_recover(struct sigcontext *context);

#endif

/*
 * stopped.h: what state the program is in, where a signal has stopped a thread in the cache.
 */
#ifndef TRUEFLAME_NATIVE_STOPPED_H
#define TRUEFLAME_NATIVE_STOPPED_H

#include "engines/native/thread.h"
#include <asm/sigcontext.h>

/* True if the thread, stopped in the cache as `context` says, is at a state of the program; that
 * state is put into the thread. What is no fault had better come where nothing that was counted for
 * another context is to be taken back. The cache's lock is held. */
bool take_program_state(struct native_thread *thread, struct sigcontext *context, bool fault);

/* If it compares the program's code, which has faulted as it is gone: goes on as if that had changed. The
 * cache's lock is held. */
bool recover_from_check(struct sigcontext *context);

#endif

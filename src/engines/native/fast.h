/*
 * fast.h: calls, returns and indirect jumps that stay inside the cache; see fast.c.
 */
#ifndef TRUEFLAME_NATIVE_FAST_H
#define TRUEFLAME_NATIVE_FAST_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"
#include "engines/native/thread.h"
#include <asm/sigcontext.h>

/* The thread has left the code of an older generation, and nothing leads it back there. */
void fast_renew(struct native_thread *thread);

/* The cache is empty: emits what all blocks share, at the same addresses each time. */
void fast_init(void);
void fast_init_thread(struct native_thread *thread);

/* A signal came on the way into the cache: the thread is in. */
void fast_finish_entry(struct native_thread *thread, struct sigcontext *context);

/* ---- pieces of sequences, for jumps.c and returns.c ---- */

/* The context in register `context`, which is lost, is the current one. At line detail a call is
 * counted here; elsewhere it is settled with what runs there. The flags are free. */
void emit_change_context(struct emitter *e, unsigned context, bool is_called);

#endif

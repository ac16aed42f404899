/*
 * fast.h: calls, returns and indirect jumps that stay inside the cache; see fast.c.
 */
#ifndef TRUEFLAME_NATIVE_FAST_H
#define TRUEFLAME_NATIVE_FAST_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"
#include "engines/native/line_counters.h"
#include "engines/native/record.h"
#include "engines/native/thread.h"
#include <asm/sigcontext.h>

/* The thread has left the code of an older generation, and nothing leads it back there. */
void fast_renew(struct native_thread *thread);

/* The cache is empty: emits what all blocks share, at the same addresses each time. */
void fast_init(void);
void fast_init_thread(struct native_thread *thread);

/* A signal came on the way into the cache: the thread is in. */
void fast_finish_entry(struct native_thread *thread, struct sigcontext *context);

/* How the thread leaves the cache: does the program use the upper halves of vector registers that the
 * cache borrows? The same as code of the cache. */
void fast_leave_by(struct native_thread *thread, bool upper);
void fast_emit_leave_by(struct emitter *e, bool upper);

/* ---- pieces of sequences, for jumps.c and returns.c ---- */

/* Where the current context is while a thread runs in the cache. At function detail it is that of
 * the shadow entry which the next call will push: so a call need not note it there, and a return
 * need not put it back; nobody waits for what was just written. thread.hot.current has it elsewhere,
 * and at line detail always. */
void emit_load_current(struct emitter *e, unsigned reg);
void emit_store_current(struct emitter *e, unsigned reg, unsigned scratch);

/* Before the cache is left: thread.hot.current is told. Loses rax. */
void emit_tell_current(struct emitter *e);

/* The thread is about to enter the cache. */
static inline void fast_enter(struct native_thread *thread)
{
    struct context *current = thread->hot.current;
    if (!options.line_detail) {
        thread->hot.top->context = current;
        return;
    }
    if (line_counters_are_away(current))
        line_counters_come_back(current);
    thread->counters = current->counters;
}

/* It was stopped there, and the shadow stack's top is known. */
static inline void fast_stopped(struct native_thread *thread)
{
    if (!options.line_detail)
        thread->hot.current = thread->hot.top->context;
}

/* The context in register `context`, which is lost, is the current one. At line detail a call is
 * counted here; elsewhere it is settled with what runs there. The flags are free. */
void emit_change_context(struct emitter *e, unsigned context, unsigned scratch, bool is_called);

#endif

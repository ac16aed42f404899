/*
 * order.h: with --repeatable, which thread has the turn (turns.h) does not depend on the kernel.
 *
 * A thread gives the turn back when its lease of instructions is over, which is the same in every
 * run, and over each system call, which is not: how soon a call is done, and which of several
 * threads then asks first, is chance. So the turn is handed on by one rule, the reference engine's:
 *
 *     it is given only when all threads are at rest, each waiting for it or asleep in the kernel;
 *     of those that wait for it, the next one after the last holder gets it.
 *
 * A thread that another one woke is no longer asleep when the call that woke it is over, so whoever
 * can run after a system call is among those that wait before anyone goes on.
 *
 *                      asks                    chosen
 *     TURN_AWAY ─────────────────> TURN_WAITING ──────> TURN_HOLDING ──┐
 *         ^                                                            │
 *         └────────────────────── gives it back ───────────────────────┘
 *
 * The thread that gives the turn back is about to make its system call and cannot look whether it
 * is at rest itself, so one of those that wait does: the chooser. Whether a thread sleeps is in
 * /proc, in a file that each keeps open, at the upper end of the numbers that a program can have.
 *
 * Waits with a time limit, and sleeps: see waits.h.
 *
 * What stays outside: when data comes from another process, or a signal, is not ours to say, and
 * poll(2) and its like wait by the kernel's clock. Nothing of this is there before a program makes its
 * first thread.
 */
#ifndef TRUEFLAME_NATIVE_ORDER_H
#define TRUEFLAME_NATIVE_ORDER_H

#include "engines/native/thread.h"

/* Do threads take turns in order? */
bool order_is_on(void);

/* `maker`, which is in a system call, is about to make the process's first further thread; NULL: the
 * process begins. */
void order_begin(struct native_thread *maker);

/* `maker` makes `child`, which will ask for the turn; that failed, or the child is another process
 * that goes its own way by now. `waits`: it does until then. */
void order_expect(struct native_thread *maker, struct native_thread *child, bool waits);
void order_expect_no_more(struct native_thread *maker, struct native_thread *child);

void order_take(struct native_thread *thread);
void order_give(struct native_thread *thread);

/* In the child of a fork, which has one thread. */
void order_forked(struct native_thread *thread);

#endif

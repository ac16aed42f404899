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
 * Time is the program's own (repeatable.h): it goes on by a nanosecond an instruction, and when nobody
 * can run. A thread that waits on a futex until some time, or sleeps, does so in the kernel without an
 * end, and is told when its time is over: by who chooses, as that comes before the next turn; or, if
 * no thread waits for the turn, by the keeper of time, who is one of those that wait for a time
 * themselves. The keeper leaves the kernel's queue for that, which nobody notices: it is back in it
 * before any other thread runs. So it waits, as long as the program's time says, for the first of the
 * times, or for a thread that is back from the kernel.
 *
 * What stays outside: when data comes from another process, or a signal, is not ours to say, and
 * poll(2) and its like wait by the kernel's clock. Nothing of this is there before a program makes its
 * first thread.
 */
#ifndef TRUEFLAME_NATIVE_ORDER_H
#define TRUEFLAME_NATIVE_ORDER_H

#include "engines/native/thread.h"

struct turn;

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

/* `thread` is about to make a system call that may last, without the turn: somebody keeps time. */
void order_before_call(struct native_thread *thread);

/* A wait on a futex with a time limit, on the program's clock, from the thread's system call. What the
 * kernel would say: 0, -ETIMEDOUT, -EAGAIN, -EINTR, or SYSCALL_NOT_BEGUN. */
struct order_wait {
    uint64_t address; /* 0: on nothing, to sleep */
    uint32_t value;
    uint32_t flags;    /* FUTEX_PRIVATE_FLAG or 0 */
    uint64_t deadline; /* as repeatable_elapsed */
};
bool order_can_wait(const struct native_thread *thread);
long order_wait(struct native_thread *thread, const struct order_wait *wait);

/* What a thread waits on a futex with, so that it alone can be told. */
uint32_t order_futex_bits(const struct native_thread *thread);

/* In the child of a fork, which has one thread. */
void order_forked(struct native_thread *thread);

#endif

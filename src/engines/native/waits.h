/*
 * waits.h: with --repeatable, waits with a time limit and sleeps of threads that take turns (order.h).
 *
 * Time is the program's own (repeatable.h): it goes on by a nanosecond an instruction, and when nobody
 * can run. A thread that waits on a futex until some time, or sleeps, does so in the kernel without an
 * end, and is told when its time is over: by who chooses, as that comes before the next turn; or, if
 * no thread waits for the turn, by the keeper of time, who is one of those that wait for a time
 * themselves. The keeper leaves the kernel's queue for that, which no other thread notices: it is back
 * in it before any of them runs. So it waits, as long as the program's time says, for the first of the
 * times, or for a thread that is back from the kernel.
 *
 *     who had the turn's fate in hand          waits on the futex
 *     and goes, while nobody wants it ──tells──> KEEPS TIME ──somebody wants the turn──> waits again
 *                                                    │
 *                                                    └─ its own time is over, or a signal ──> returns
 *
 * What always holds: a thread is told only when it is in the kernel's queue or on its way out of it,
 * as all threads rest before anybody gets the turn or gives up keeping time. What it was told it finds
 * with the guard, and from that moment on it does not wait for a time any more, so that nobody tells it
 * anything that it would not find.
 *
 * A thread is told by waking its futex for a bit that it alone waits with there, and threads without a
 * limit wait with a bit that nobody is told with. Of more than thirty with a limit at one address the
 * rest shares a bit and wakes for nothing, as they may. So whatever the program itself does by bits, or
 * by moving threads to another futex, wakes all that it might be for.
 */
#ifndef TRUEFLAME_NATIVE_WAITS_H
#define TRUEFLAME_NATIVE_WAITS_H

#include "engines/native/thread.h"

struct turn;

/* A wait on a futex, from the thread's system call. What the kernel would say: 0, -ETIMEDOUT, -EAGAIN,
 * -EINTR, or SYSCALL_NOT_BEGUN. */
struct timed_wait {
    uint64_t address; /* 0: on nothing, to sleep */
    uint32_t value;
    uint32_t flags;    /* FUTEX_PRIVATE_FLAG or 0 */
    uint64_t deadline; /* on the program's clock, as repeatable_elapsed */
};
bool waits_in_turns(const struct native_thread *thread);
long waits_until(struct native_thread *thread, const struct timed_wait *wait);

/* Other calls of threads that take turns, on a futex: a wait without a limit, and what wakes or moves
 * some of those that wait. */
long waits_without_limit(struct native_thread *thread);
long waits_wake_some(struct native_thread *thread);

/* `thread` is about to make a system call that may last, without the turn: somebody keeps time. */
void waits_before_call(struct native_thread *thread);

/* For order.c: returns with the guard taken when all rest, and nobody whose time is over is still in
 * the kernel; wakes one that was told something, once more. */
void waits_end_those_that_are_over(void);
void waits_wake(const struct turn *turn);

#endif

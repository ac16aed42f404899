/*
 * turns.h: threads in turns, each for as many instructions as it was given. For --budget and
 * --checkpoint only, and for --repeatable as soon as there is a second thread: without them nothing
 * of this is in the code, and threads run in parallel.
 *
 * A thread that is in the cache has the turn and a lease. Every segment begins by taking its
 * instructions from the lease; when they are more than is left, the thread leaves the cache before
 * it has run any of them. So whoever has the turn knows that every other thread stands between
 * two segments, or in a system call, with all that it ran counted: a checkpoint is a true state,
 * and the last instruction of a budget can be found. If the budget ends inside a segment, that
 * part of it is translated as a block of its own.
 *
 * The turn is passed on at the end of a lease and over system calls, first come, first served; or,
 * with --repeatable, in order (order.h).
 */
#ifndef TRUEFLAME_NATIVE_TURNS_H
#define TRUEFLAME_NATIVE_TURNS_H

#include "engines/native/thread.h"

struct translation;

/* By the options. */
void turns_init(void);
bool turns_are_on(void);

/* Neither may be called with the cache's lock held. Checkpoints are written as a turn begins. */
void turns_take(struct native_thread *thread);
void turns_give(struct native_thread *thread);

/* In the child of a fork: nobody has the turn. */
void turns_forked(struct native_thread *thread);

/* At the beginning of a segment of `instructions`. */
void turns_emit(struct translation *t, unsigned first, unsigned instructions);

/* Of the instructions that were taken from the lease, so many were not run. */
static inline void turns_take_back(struct native_thread *thread, int instructions)
{
    thread->lease += instructions;
}

/* EXIT_LEASE: the lease is too short for the `instructions` at the thread's pc. Returns the block
 * to go on in. The cache's lock is held, and given for a while. */
struct block *turns_next(struct native_thread *thread, unsigned instructions);

/* EXIT_BUDGET: the last instruction has run. */
_Noreturn void turns_end_of_budget(struct native_thread *thread);

#endif

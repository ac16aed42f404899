/*
 * threads.h: threads and processes of the program: how they begin and end.
 */
#ifndef TRUEFLAME_NATIVE_THREADS_H
#define TRUEFLAME_NATIVE_THREADS_H

#include "engines/native/thread.h"

/* The program's first thread. */
struct native_thread *threads_first(uint64_t stack_pointer);

/* System calls. */
long threads_call_clone(struct native_thread *thread);
long threads_call_clone3(struct native_thread *thread);
long threads_call_fork(struct native_thread *thread);
long threads_call_vfork(struct native_thread *thread);
/* Is it the only one that runs? */
bool threads_is_last(const struct native_thread *thread);

/* seccomp.c: all threads of the process get this one's. */
void threads_share_filters(const struct native_thread *thread);

_Noreturn long threads_call_exit(struct native_thread *thread);
_Noreturn long threads_call_exit_group(struct native_thread *thread);

/* Counts go to another plane from now on: `thread` moves at once, the others with their next
 * call. */
void threads_change_plane(struct native_thread *thread);
/* Do all other threads remember only what the cache has now? The cache's lock is held. */
bool threads_have_renewed(const struct native_thread *but);

void threads_catch_up(struct native_thread *thread);

/* What every thread has counted is in its contexts. */
void threads_settle_all(void);

/* Which function an address belongs to has changed: calls find their children anew. */
void threads_forget_children(void);

/* See leaves_forget. */
void threads_forget_leaves(void);

/* A code object of CPython dies. */
void threads_forget_code(uint64_t code);

/* A child of vfork ends where it is: its maker, which goes on with the same memory, needs what it holds. */
void threads_give_all(struct native_thread *child);

/* Forgets the others: the process was forked, only `thread` goes on. */
void threads_forget_others(struct native_thread *thread);

#endif

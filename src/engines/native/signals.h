/*
 * signals.h: the program's signals.
 *
 * The kernel keeps the program's signal mask and queues; the engine's handler stands in for the
 * program's. A signal becomes the program's at a state that is exactly one of its own:
 *
 *   in the cache, at a mark of the program   at once: the frame is built, the handler entered
 *   in the cache, inside engine code         single-stepped to the next mark, or out of the cache
 *   in the engine                            noted, all blocked; sent again at the safe point
 *                                            just before the thread goes back to the cache
 *   at the system call gate                  as in the engine; a call that has not begun, or that
 *                                            the kernel wants begun anew, is taken back
 *
 * So at most one signal per thread is held outside the kernel. The frame is the kernel's own,
 * vector state and all, with the program's registers in it.
 */
#ifndef TRUEFLAME_NATIVE_SIGNALS_H
#define TRUEFLAME_NATIVE_SIGNALS_H

#include "engines/native/arena.h"
#include "engines/native/thread.h"

/* The actions a process has: a copy of `from`'s, or what the kernel says if that is NULL. */
struct action *signals_new_actions(const struct native_thread *from);
void signals_clear_actions(struct native_thread *thread); /* handlers to the default */

extern struct lock actions_lock; /* held while actions change */

/* Tells the kernel of the engine's handler, wherever it is needed. */
void signals_install_all(struct native_thread *thread);

/* The thread's own stack for handlers; called by the thread itself. */
void signals_init_thread(struct native_thread *thread);

/* At the thread's pc is no instruction, or it begins where there is something, and ends where nothing
 * executable is, at `missing`: the program gets SIGILL or SIGSEGV. */
void signals_raise_illegal(struct native_thread *thread);
void signals_raise_fetch(struct native_thread *thread, uint64_t missing);

/* The instruction at the thread's pc is not allowed to do what it would: SIGSEGV without an address. */
void signals_raise_protection(struct native_thread *thread);

/* The program gets this signal for what it did. False: it blocks or ignores it, and should die. */
bool signals_raise(struct native_thread *thread, const void *siginfo);

/* A held signal is delivered now; the thread's state is complete, no lock is held. Returns only
 * if there was none, or it was of no consequence. */
void signals_safe_point(struct native_thread *thread);

/* System calls. */
long signals_call_action(struct native_thread *thread);
long signals_call_mask(struct native_thread *thread);
long signals_call_stack(struct native_thread *thread);
_Noreturn void signals_call_return(struct native_thread *thread);

/* Ends the process by signal `number`, as if there had never been a handler. */
_Noreturn void signals_die(unsigned number);

/* Signal masks of the calling thread. */
#define SIGNALS_ALL UINT64_MAX
uint64_t signals_set_mask(uint64_t mask);

#endif

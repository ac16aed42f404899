/*
 * seccomp.h: the filters of system calls that the program installs.
 *
 * In the kernel they would apply to the engine's calls as well, which the program knows nothing of and
 * does not allow. So they are run here, for the program's calls only. The kernel gets a filter that
 * allows everything, so that it checks the program's right to install one and says in /proc that there
 * is one. A program that is executed under filters gets the real ones, and runs outside the recording.
 *
 * What is not done here: notifications to another process (SECCOMP_FILTER_FLAG_NEW_LISTENER); such a
 * filter goes to the kernel as it is.
 */
#ifndef TRUEFLAME_NATIVE_SECCOMP_H
#define TRUEFLAME_NATIVE_SECCOMP_H

#include "engines/native/thread.h"

/* The thread is about to make the call that is in its registers. False: it does not make it, and the
 * registers and held signals are as its filters say; or it does not return. */
bool seccomp_allows(struct native_thread *thread);

static inline bool seccomp_is_on(const struct native_thread *thread)
{
    return thread->filters || thread->is_strict;
}

/* System calls. */
long seccomp_call_prctl(struct native_thread *thread);
long seccomp_call_seccomp(struct native_thread *thread);

/* The thread's filters are the kernel's from now on, for a program that it executes. */
void seccomp_hand_over(struct native_thread *thread);

#endif

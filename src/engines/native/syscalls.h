/*
 * syscalls.h: the program's system calls.
 */
#ifndef TRUEFLAME_NATIVE_SYSCALLS_H
#define TRUEFLAME_NATIVE_SYSCALLS_H

#include "engines/native/load.h"
#include "engines/native/arena.h"
#include "engines/native/thread.h"

/* What a call returns that a signal kept from beginning: it is made again after the handler. */
#define SYSCALL_NOT_BEGUN (-513l)

void syscalls_init(const struct program *program);

/* The call in the thread's registers; rax, rcx and r11 are set as the kernel would. thread->pc is
 * already the instruction after it. False: a signal came first, nothing was done. No lock is
 * held. */
bool syscalls_perform(struct native_thread *thread);

/* Makes the call in the thread's registers; its result, or SYSCALL_NOT_BEGUN. */
long syscalls_pass_on(struct native_thread *thread);

extern struct lock heap_lock; /* held while the program's heap changes */

/* To the next page, if it is not at one. */
static inline uint64_t page_up(uint64_t address)
{
    return (address + 4095) & -4096ul;
}

/* What was there is not there any more. No lock is held. */
void syscalls_code_gone(uint64_t start, uint64_t end);

/* What stands there is other code than before, though nothing was mapped. No lock is held. */
void syscalls_code_changed(uint64_t start, uint64_t end);

/* As soon as the kernel has unmapped something, other threads may have code of theirs there: what was
 * translated is forgotten before. Returns what maps_remove_until needs after. No lock is held. */
uint64_t syscalls_before_unmapping(uint64_t start, uint64_t end);

#endif

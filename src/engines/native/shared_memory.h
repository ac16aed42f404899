/*
 * shared_memory.h: System V shared memory. The kernel chooses its place without mmap, and it can
 * have code: without these calls maps.h would know nothing of it.
 */
#ifndef TRUEFLAME_NATIVE_SHARED_MEMORY_H
#define TRUEFLAME_NATIVE_SHARED_MEMORY_H

#include "engines/native/thread.h"

long shared_memory_call_attach(struct native_thread *thread);
long shared_memory_call_detach(struct native_thread *thread);

#endif

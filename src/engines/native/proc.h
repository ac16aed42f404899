/*
 * proc.h: what the program sees of itself under /proc: itself, not the engine.
 */
#ifndef TRUEFLAME_NATIVE_PROC_H
#define TRUEFLAME_NATIVE_PROC_H

#include "engines/native/thread.h"

/* `path` is the program's file, absolute, kept by the caller. */
void proc_set_program(const char *path);
const char *proc_program(void);

/* Is this, from `folder` on, the process's own /proc/.../exe? */
bool proc_is_exe(long folder, const char *path);

long proc_call_readlink(struct native_thread *thread);
long proc_call_readlinkat(struct native_thread *thread);
long proc_call_open(struct native_thread *thread);
long proc_call_openat(struct native_thread *thread);
long proc_call_path(struct native_thread *thread);    /* the path is the first argument */
long proc_call_path_at(struct native_thread *thread); /* it is the second */
long proc_call_newfstatat(struct native_thread *thread);
long proc_call_statx(struct native_thread *thread);

/* proc_maps.c: a descriptor for maps or smaps at `path`, less what is the engine's; or -errno. */
long proc_open_maps(const char *path, uint64_t flags);

#endif

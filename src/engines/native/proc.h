/*
 * proc.h: what the program sees of itself under /proc: itself, not the engine.
 */
#ifndef TRUEFLAME_NATIVE_PROC_H
#define TRUEFLAME_NATIVE_PROC_H

#include "engines/native/thread.h"

/* `path` is the program's file, absolute, kept by the caller. */
void proc_set_program(const char *path);

#define PATH_BYTES 4096

/* Is this, from `folder` on, the /proc/.../exe of the process or of another under the engine?
 * `program_path` is its program then. */
bool proc_is_exe(long folder, const char *path, char program_path[PATH_BYTES]);

long proc_call_readlink(struct native_thread *thread);
long proc_call_readlinkat(struct native_thread *thread);
long proc_call_open(struct native_thread *thread);
long proc_call_openat(struct native_thread *thread);
long proc_call_path(struct native_thread *thread);    /* the path is the first argument */
long proc_call_path_at(struct native_thread *thread); /* it is the second */
long proc_call_newfstatat(struct native_thread *thread);
long proc_call_statx(struct native_thread *thread);
long proc_call_write(struct native_thread *thread);
long proc_call_pwrite(struct native_thread *thread); /* the offset is the fourth argument */

/* proc_maps.c: the program that another process runs under the engine; false: it is none. */
bool proc_program_of(uint64_t pid, char *path, size_t size);

/* A descriptor for maps or smaps at `path`, less what is the engine's; or -errno. */
long proc_open_maps(const char *path, uint64_t flags);

enum proc_file { PROC_MAPS, PROC_STATUS, PROC_STAT };

/* --repeatable: a descriptor for status or stat, open as `file`, which it replaces, less what chance had
 * a part in; or -errno. */
long proc_copy(long file, enum proc_file kind, uint64_t flags);

#endif

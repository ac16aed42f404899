/*
 * limits.h: limits on memory and files that the program sets for itself (setrlimit), or was started with.
 *
 * The engine has memory and files of its own. Where the kernel counted those too, the program would have
 * too little, or the engine none at its end. So the kernel is told less than the program says:
 *
 *     RLIMIT_AS, RLIMIT_DATA         nothing: the program's own mappings are counted here
 *     RLIMIT_FSIZE, RLIMIT_NOFILE    the limit, but not that it may never be raised again
 *
 * and the program is told what it said. The next program has the limits again: exec.c.
 */
#ifndef TRUEFLAME_NATIVE_LIMITS_H
#define TRUEFLAME_NATIVE_LIMITS_H

#include "engines/native/thread.h"

/* When the engine begins; the address is on the stack that the kernel made. */
void limits_init(uint64_t address);

/* There is too little: the program is refused. */
void limits_refuse(void) __attribute__((noreturn));

/* So many of `wanted` bytes of address space the engine keeps for something of its own: all, but where
 * the kernel allows little, and will not allow more, a small part. */
uint64_t limits_share(uint64_t wanted);

/* Options for the engine that runs the next program, which the kernel does not tell all; their number,
 * LIMITS_MOST at most. And what one of them says: "RESOURCE:SOFT:HARD". */
#define LIMITS_MOST   4
#define LIMITS_OPTION "--limit="
unsigned limits_options(char **words);
void limits_take_option(const char *value);

/* May the program have so many bytes more? `data`: private ones that can be written. */
bool limits_allow(uint64_t size_bytes, bool data);

/* The kernel has the limits on memory while the next program is executed; if it is not, no more. */
void limits_before_exec(void);
void limits_exec_failed(void);

long limits_call_getrlimit(struct native_thread *thread);
long limits_call_setrlimit(struct native_thread *thread);
long limits_call_prlimit(struct native_thread *thread);

#endif

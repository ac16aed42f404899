/*
 * arena.h: the engine's memory.
 *
 * Every mapping of the engine stands at an address it asks for, one after the other, so that the
 * program's own mappings come out where they would without the engine. Memory is zeroed. Small
 * pieces come from chunks and are reused by size; large ones are mappings of their own. Locking
 * is inside.
 */
#ifndef TRUEFLAME_NATIVE_ARENA_H
#define TRUEFLAME_NATIVE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct native_thread;

/* What cannot be had after this ends the program; before, the engine refuses it. */
void arena_program_runs(void);

void *arena_allocate(size_t size_bytes);

/* Likewise, of what will be filled from its beginning on, or has no empty parts: in large pages, which
 * the kernel is quicker to give, and the processor to find. `begins_small`: but for the beginning,
 * which is all that small programs use. */
void *arena_allocate_filled(size_t size_bytes, bool begins_small);

/* Likewise, where four bytes can name it, as long as there is room; the first time there is. */
void *arena_allocate_low(size_t size_bytes);

void arena_release(void *memory, size_t size_bytes);

/* A file's first `size_bytes`, private and read-only; NULL if it cannot be had. */
void *arena_map_file(long file, size_t size_bytes);

/* The stack that the kernel made is not the program's. */
void engine_keep_stack(uint64_t start, uint64_t end);

/* Is any of [start, end) the engine's: image, arena, contexts, code cache or a stack that it kept? */
bool engine_owns(uint64_t start, uint64_t end);

/* A lock for short stretches; waiters sleep in the kernel. */
struct lock {
    uint32_t word; /* 0 free; else whose it is, once there are two threads, and if one waits */
};
extern struct lock arena_lock;
void lock_take(struct lock *lock);
/* The process whose threads hold locks; those that it made by vfork do too. Is it gone, so that one
 * of those must not wait for it any longer? */
void lock_is_of(long process);
bool lock_holder_is_gone(void);
void lock_give(struct lock *lock);

/* A child of vfork has ended, and nobody else has run since if there are no other threads: did it hold
 * the lock? */
bool lock_was_left_by(const struct lock *lock, const struct native_thread *child);

/* The process is going to have a second thread, or has had one. The cache's lock is held. */
void locks_share(void);
bool locks_are_shared(void);

#endif

/*
 * arena.h: executable memory, cut into slots that each hold one trampoline.
 *
 * Every slot is the same bytes, so an arena is filled once, while it is writable, and then made
 * executable for good: it is never both. Slots lie arena_slot_bytes apart, which is more than the
 * code takes: `perf inject -j` lays the code and its unwind tables over the address space as if
 * they had been mapped there together, and two functions' mappings must not overlap.
 *
 * Arenas are never unmapped: a trampoline may still be on some stack when its function is gone.
 * Not thread-safe; the caller holds the interpreter's lock.
 */
#ifndef TRUEFLAME_PYTHON_ARENA_H
#define TRUEFLAME_PYTHON_ARENA_H

#include <stddef.h>

#include "common/error.h"

/* The next unused slot, or NULL with `error` set when the system refuses executable memory. */
void *arena_take_slot(struct error *error);

/* Gives a slot back: the next arena_take_slot() returns it again. Only for writers whose format can
 * say that an address changed its name. */
void arena_return_slot(void *slot);

size_t arena_slot_bytes(void);
size_t arena_count(void);

#endif

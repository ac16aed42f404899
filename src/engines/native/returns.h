/*
 * returns.h: returns inside the cache, and the landings behind calls where they go on.
 */
#ifndef TRUEFLAME_NATIVE_RETURNS_H
#define TRUEFLAME_NATIVE_RETURNS_H

#include "engines/native/translation.h"

/* A call's sequence needs the landing's address before the landing is emitted: it has this for it. */
#define LANDING_UNKNOWN 0x7fffffffu

/* The landing of the call at `index`, whose sequence begins at `start` and leaves by exit `id`. */
void returns_finish_call(struct translation *t, unsigned index, uint8_t *start, uint32_t id);

/* Makes the landing of the call with exit `id`, apart from its block. */
uint64_t returns_make_landing(uint32_t id);

/* Goes on if rcx is `address`, and makes it zero; else to `otherwise`, to which cold_unverified
 * leads: there rcx is what it was. Flags stay. */
void emit_verify(struct emitter *e, uint64_t address, uint64_t otherwise);
uint64_t cold_unverified(uint64_t address, uint64_t to);

/* The same at an entry, which nothing runs into from above, and cheaper: first what is to stand before
 * it, which may be nothing; then at the entry, with what the first returned. */
uint64_t emit_before_verify(struct emitter *e, uint64_t otherwise);
void emit_verify_entry(struct emitter *e, uint64_t address, uint64_t before);

/* The same inside of a sequence, by a branch to behind it, which the second emits: it must be near. */
void emit_verify_ahead(struct translation *t, uint64_t address, uint64_t otherwise);
void emit_end_verify(struct translation *t);

/* A return's address was right but the stack pointer is not: on to `to`, with the address in rcx.
 * `flags`: are saved away, and rax is borrowed for it. */
uint64_t cold_other_stack(uint64_t next, bool flags, uint64_t to);

/* Returns into [start, end) do not go on in code of theirs: it is gone. */
void returns_forget(uint64_t start, uint64_t end);

/* In the child of a fork, which has no code yet: nobody but `thread` is running, or on a stack. */
void returns_forget_all(const struct native_thread *thread);

/* Nor do those whose code lies in [start, end) of the cache; in that of an older generation. */
void returns_forget_code(uint64_t start, uint64_t end);
void returns_forget_old(void);

/* The cache is empty. Returns the landing for calls that have none of their own. */
uint64_t returns_init(void);

#endif

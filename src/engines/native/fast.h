/*
 * fast.h: calls, returns and indirect jumps that stay inside the cache; see fast.c.
 */
#ifndef TRUEFLAME_NATIVE_FAST_H
#define TRUEFLAME_NATIVE_FAST_H

#include "engines/native/cache.h"
#include "engines/native/thread.h"

/* One remembered change of context: (context, where from, target) to (context, code). A thread
 * has a table of them, so no lock is needed. */
struct child_slot {
    uint64_t key;    /* the context's key + a site, or + TRANSITION + a block's number */
    struct context *child;
    uint64_t target; /* indirect calls only */
    uint64_t code;   /* indirect calls only: where the callee's block is entered */
};

#define CHILD_SLOTS 8192
#define TRANSITION  0x80000000u

struct child_slot *fast_call_slot(const struct native_thread *thread, const struct context *context,
                                  uint32_t site);
struct child_slot *fast_indirect_slot(const struct native_thread *thread,
                                      const struct context *context, uint32_t site, uint64_t target);

/* Entries of a block for threads whose rax, rcx, rdx and flags are saved away; made when first
 * asked for. Cache addresses. */
uint64_t fast_call_entry(struct block *block); /* the context is right */
uint64_t fast_jump_entry(struct block *block); /* it may not be */
/* For threads with everything in place, but another function's context. */
uint64_t fast_transition_entry(struct block *block);

/* Where a return goes on whose code behind the call is not known. */
uint64_t fast_plain_landing(void);
/* Returns into [start, end) do not go on in code of theirs: it is gone. */
void fast_forget_landings(uint64_t start, uint64_t end);

/* Indirect jumps to `pc` go to cache address `code` from now on. */
void fast_remember_jump(uint64_t pc, uint64_t code);

void fast_init(void);

#endif

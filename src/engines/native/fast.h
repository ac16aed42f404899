/*
 * fast.h: calls, returns and indirect jumps that stay inside the cache; see fast.c.
 */
#ifndef TRUEFLAME_NATIVE_FAST_H
#define TRUEFLAME_NATIVE_FAST_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"
#include "engines/native/thread.h"
#include <asm/sigcontext.h>

/* One remembered change of context: (context, where from, target) to a context. A thread has a
 * table of them, so no lock is needed. */
struct child_slot {
    uint64_t key; /* the context's key + a site or transition_number */
    struct context *child;
    uint64_t target; /* indirect calls only */
    uint64_t unused; /* slots are half a cache line */
};

#define CHILD_SLOTS 131072

/* By a call's site: what it did last. */
struct site_slot {
    struct context *context, *child;
};

#define SITE_SLOTS (1u << 20) /* further sites have none */
#define TRANSITION 0x80000000u

/* Among the changes of a context: to this block, which another function has. */
static inline uint32_t transition_number(const struct block *block)
{
    return TRANSITION | block->number;
}

/* The slot beside the context that a site, or a transition, has. */
static inline struct context_slot *fast_beside(struct context *context, uint32_t number)
{
    return &context->slots[number % CONTEXT_SLOTS];
}

static inline struct context_slot fast_beside_value(uint32_t number, struct context *child)
{
    return (struct context_slot){(uint64_t)(int32_t)number, child}; /* as it is compared */
}

struct child_slot *fast_call_slot(const struct native_thread *thread, const struct context *context,
                                  uint32_t site);
struct child_slot *fast_indirect_slot(const struct native_thread *thread,
                                      const struct context *context, uint32_t site,
                                      uint64_t target);

/* May calls through a slot that leads to `target` be made direct? */
bool fast_may_foresee(uint64_t target);

/* An indirect call went to `target`, and its context was not known. True: what is foreseen of it has
 * changed, and its block is to be made anew. */
bool fast_note_target(uint32_t site, uint64_t target);

/* The thread has left the code of an older generation, and nothing leads it back there. */
void fast_renew(struct native_thread *thread);

/* The cache is empty: emits what all blocks share, at the same addresses each time. */
void fast_init(void);
void fast_init_thread(struct native_thread *thread);

/* A signal came on the way into the cache: the thread is in. */
void fast_finish_entry(struct native_thread *thread, struct sigcontext *context);

/* ---- pieces of sequences, for jumps.c and returns.c ---- */

/* The context in register `context`, which is lost, is the current one. At line detail a call is
 * counted here; elsewhere it is settled with what runs there. The flags are free. */
void emit_change_context(struct emitter *e, unsigned context, bool is_called);

/* eax = hash of (context in register `context`, site); then the address of its slot */
void emit_child_slot(struct emitter *e, unsigned context, uint32_t site);
void emit_child_address(struct emitter *e);

/* rax = the child of the context in rcx, if it is beside it; else on to code that looks for it
 * elsewhere, which is emitted apart, and comes back or goes to `miss`. */
struct child_lookup {
    uint8_t *branch_end;
    uint64_t address, back; /* of the branch's end, and behind the lookup */
};

struct child_lookup emit_beside(struct emitter *e, uint32_t number);
void finish_beside(const struct child_lookup *lookup, uint32_t number, uint64_t miss);

#endif

/*
 * children.h: how code in the cache finds the context that comes next. It is in one of three places,
 * the first of which is asked inline:
 *
 *     beside   in the context itself, what was used last. At function detail there is one child for
 *              each function that is called, so it is found by the target, and its own `entry` says
 *              that it is the one: seven for calls (callees.h), one for what tail calls enter, all in
 *              one cache line. At line detail four slots, by the number of the call's site (or of the
 *              block that a tail call enters) modulo four;
 *     last     what the site did last, if that was in the same context: behind the thread, so that no
 *              register is needed to get there;
 *     table    the thread's own, at a place that follows from the key, or from context and target.
 *
 * Else the cache is left, the core is asked, and its answer is remembered.
 */
#ifndef TRUEFLAME_NATIVE_CHILDREN_H
#define TRUEFLAME_NATIVE_CHILDREN_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"

/* One remembered change of context: (context, where from, target) to a context. A thread has a
 * table of them, so no lock is needed. */
struct child_slot {
    uint64_t key; /* the context's key + a site or transition_number */
    struct context *child;
    uint64_t target;         /* indirect calls only; at function detail instead: */
    struct context *context; /* from there to where the child was entered, from any site */
};

#define CHILD_SLOTS 262144 /* of which a thread uses what it needs */

/* By a call's site: what it did last. */
struct site_slot {
    struct context *context, *child;
};

#define SITE_SLOTS   (1u << 20) /* further sites have none */
#define THREAD_SITES ((sizeof(struct native_thread) + 4095) & ~4095ul)
#define THREAD_BYTES (THREAD_SITES + SITE_SLOTS * sizeof(struct site_slot))
#define TRANSITION   0x80000000u

/* Among the changes of a context: to this block, which another function has. */
static inline uint32_t transition_number(const struct block *block)
{
    return TRANSITION | block->number;
}

/* `child` is what a change of context leads to, and is beside the context from now on: by a call
 * or transition `number` to `target`. The cache's lock is held. */
void fast_put_beside(struct context *context, uint32_t number, uint64_t target,
                     struct context *child);

/* A new thread's table, or that of a child of fork, is empty. */
void children_init_thread(struct native_thread *thread);

/* Slots to be filled. */
struct child_slot *fast_call_slot(struct native_thread *thread, const struct context *context,
                                  uint32_t site);
struct child_slot *fast_indirect_slot(struct native_thread *thread, const struct context *context,
                                      uint32_t site, uint64_t target);
/* The next such call from there, by site `site` to `target`, finds the child. */
void fast_remember_call(struct native_thread *thread, struct context *context, uint32_t site,
                        uint64_t target, struct context *child);
struct child_slot *fast_called_slot(struct native_thread *thread, const struct context *context,
                                    uint64_t target);

/* eax = hash of (context in register `context`, site); then the address of its slot */
void emit_child_slot(struct emitter *e, unsigned context, uint32_t site);
void emit_child_address(struct emitter *e);

/* A change of context that is known when code is made. */
struct step {
    struct code_function *function; /* that calls; NULL for transitions, which all come by */
    uint32_t number;                /* of the call's site, or transition_number */
    uint64_t target;
    bool varies; /* the site may have called something else than `target` before */
};

/* rax = the child of the context in rcx, if it is beside it; else on to code that looks for it
 * elsewhere, which is emitted apart, and comes back or goes to `miss`. */
struct child_lookup {
    uint8_t *branch_end;
    uint64_t address, back; /* of the branch's end, and behind the lookup */
};

struct child_lookup emit_beside(struct emitter *e, const struct step *step);
void finish_beside(const struct child_lookup *lookup, const struct step *step, uint64_t miss);

/* Goes on if the context in rax was entered at `target`. */
void emit_entry_check(struct emitter *e, uint64_t target, uint64_t miss);

/* rcx = the child of the current context; rax stays. `rax_spilled`: it is already. */
struct child_lookup emit_child_in_place(struct emitter *e, const struct step *step);
void finish_in_place(const struct child_lookup *lookup, const struct step *step, bool rax_spilled,
                     uint64_t miss);

/* rdx = the child of the context in rax for the target in rcx, at function detail from the table
 * alone: what calls but one function was foreseen. `miss` is gone to with rax, rcx and rdx borrowed and
 * the target in thread.target. */
void emit_indirect_child(struct emitter *e, uint32_t site, uint64_t miss);

#endif

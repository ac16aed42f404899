/*
 * children.h: the context that a call or a jump enters, as inline code finds it.
 *
 * A direct call looks into a slot of the current context. A function has few call sites that run
 * often, so its first CONTEXT_SLOTS get a slot of their own, and a call is a comparison and a load.
 * The function's other sites, indirect calls and jumps to other functions look into one
 * direct-mapped cache for all:
 *
 *     key   = context.key + 32 * site          site 0: a jump
 *     entry = children[(key + 2 * target) / 32 % CHILDREN]
 *     hit   : entry.key == key && entry.target == target
 *
 * context.key spreads contexts over the cache, so that nothing has to be multiplied here. A direct
 * call's site says its target: it leaves out both mentions of it.
 *
 * Behind both stands the tree (core_callee, core_mismatch). It is a static array because its
 * address then fits into the operand of an instruction.
 */
#ifndef TRUEFLAME_VALGRIND_CHILDREN_H
#define TRUEFLAME_VALGRIND_CHILDREN_H

#include "engine.h"

struct child {
    uint64_t key; /* 0: none */
    uint64_t target;
    struct context *context;
    uint64_t unused;
};

#define CHILDREN      (1u << 17)
#define CHILD_BYTES   sizeof(struct child)
#define CHILDREN_MASK ((CHILDREN - 1) * CHILD_BYTES)
#define SITE_STEP     CHILD_BYTES
_Static_assert(sizeof(struct child) == 32, "inline code knows the layout");

extern struct child children[CHILDREN];

static inline uint64_t child_key(const struct context *context, uint32_t site)
{
    return context->key + (uint64_t)site * SITE_STEP;
}

/* `target` is 0 for a direct call. */
static inline struct child *child_entry(uint64_t key, uint64_t target)
{
    return &children[(key + 2 * target) / CHILD_BYTES % CHILDREN];
}

/* Forgets what is there if the core did: which function an address belongs to has changed. To be
 * called before inline code goes on. */
void children_follow_core(void);

/* ---- direct calls ---- */

#define NO_SLOT CONTEXT_SLOTS

struct call_site {
    Addr target;
    UInt slot;   /* of its context, or NO_SLOT */
    Bool varies; /* it has led elsewhere: the program changes its code */
};

/* The direct call with this number, in `info`, to `target`. */
struct call_site *call_site_add(UInt site, const struct block_info *info, Addr target);
struct call_site *call_site(UInt site);

#endif

/*
 * tree.h: the context tree, which is the profile while it is made.
 *
 * A context is one call path: (parent, call site, function). Contexts are made when a path runs
 * for the first time and never go away, so their order of creation puts parents first.
 *
 * Two calls from one context to one function are told apart by their sites only where that can
 * show: the site says which inlined function made the call, so the module must have line
 * information and the detail must be `line`. And only where it stays affordable: fib calls itself
 * from two sites, and by sites each of its calls would be a path of its own. So a call to a
 * function that is already on the path, and any call once there are TREE_SITED_CONTEXTS contexts,
 * finds one context for all sites. Such a context knows all its sites (tree.site_pairs): after the
 * run it hangs below what their inline chains have in common, which is the truth, if less of it.
 *
 * Children are found in one hash table for the whole tree. In front of it stands a direct-mapped
 * cache, made so that an engine can look into it with a handful of inline instructions:
 *
 *     key   = context.key + site              context.key has its number in the upper half
 *     entry = cache[((key + target) * TREE_MIX) >> shift]
 *     hit   : entry.key == key && entry.child->entry == target
 *
 * Why not children by site number in each context: CPython's evaluator has a thousand call sites
 * and tens of thousands of contexts. Why a cache in front of a table: a probe sequence cannot be
 * inlined in a few instructions, one slot can.
 *
 * Workload: calls are a thousand times more common than new contexts; a program has a few thousand
 * to a few million contexts.
 */
#ifndef TRUEFLAME_CORE_TREE_H
#define TRUEFLAME_CORE_TREE_H

#include "core/code.h"

enum context_flags {
    CONTEXT_ALL_SITES = 2, /* for every site of the parent; `site` is the first that was seen */
    CONTEXT_TAIL = 1, /* reached by a tail call that --tail-calls=keep shows below its caller */
};

/* A child that inline code finds without a hash: a direct call's site has the slot with its number
 * modulo CONTEXT_SLOTS, so that neighbours rarely share. `site` says whose it is at the moment. */
struct context_slot {
    uint64_t site;
    struct context *child;
};

#define CONTEXT_SLOTS    4
#define CONTEXT_CHILDREN 8

/* Two cache lines. A program has more contexts in use than the processor's first cache has lines:
 * what engines touch in inline code comes first. */
struct context {
    union {
        uint64_t self_instructions;
        uint64_t counters; /* at line detail: the engine's own */
    };
    uint64_t calls;
    uint64_t entry;             /* absolute address that was called to get here */
    struct code_function *code; /* whose blocks run in this context: `function`, except that a
                                 * Python frame's are the evaluator's */
    /* Caches, which may be empty: */
    union {
        struct context_slot slots[CONTEXT_SLOTS];
        /* If the tree is by_entry: found by where they were entered, which their own `entry` says;
         * the tree's nobody where there is none. Addresses, of contexts that lie below 4 GB. And
         * further slots. */
        struct {
            uint32_t children[CONTEXT_CHILDREN];
            struct context_slot further[CONTEXT_SLOTS - 2];
        };
    };
    uint64_t key;           /* tree_key(its number) */
    struct context *parent; /* NULL for a root */
    struct code_function *function;
    uint32_t site;       /* row of tree.sites, 0: none */
    uint32_t flags : 2;  /* enum context_flags */
    uint32_t depth : 30; /* 0 for a root */
};

/* A call instruction. Site 0 stands for none. Numbers are the engine's to bake into code. */
struct site {
    uint64_t address; /* absolute, of the instruction */
    struct code_module *module;
};

struct tree_cache_entry {
    uint64_t key;
    struct context *child;
};

#define TREE_MIX        0x9e3779b97f4a7c15u
#define TREE_CACHE_BITS 16

/* Most looks at the table end without one at a context, which is seldom near. And most are for a child
 * of a context that is new itself. So children of contexts that were made one after the other have slots
 * in the same line of the processor's cache, and only where that is full they are where their hash
 * says: one context may have any number of children. */
struct tree_slot {
    uint32_t hash;
    uint32_t context; /* number + 1; 0: the slot is free */
};

struct tree {
    struct tree_cache_entry *cache; /* 1 << TREE_CACHE_BITS entries; NULL: nobody asks for it */
    uint32_t cache_clears;          /* for engines with a cache of their own */
    struct context *nobody;         /* child of an empty entry */
    struct context **chunks;        /* contexts by number, TREE_CHUNK to a chunk */
    size_t chunk_capacity;
    uint32_t count;
    uint32_t inherited; /* so many of them are a parent's, over a fork: nothing is counted there */
    uint32_t max_depth; /* of any context */
    uint32_t limit;     /* --max-contexts: beyond it recursion folds. 0: none */
    uint64_t folded;    /* contexts that were not made because of it */
    struct tree_slot *slots; /* of (parent, site, function) */
    size_t slot_count;
    struct site *sites;
    uint32_t site_count, site_capacity;
    uint32_t *site_slots; /* hash of address */
    size_t site_slot_count;
    uint64_t *site_pairs; /* hash of context.key + site: further sites of a context */
    size_t site_pair_count, site_pair_capacity;
    bool by_site;                          /* do sites show at all? */
    bool by_entry;                         /* an engine's: contexts have `children`, not `slots` */
    void (*made)(struct context *context); /* an engine's: there is a new one. NULL: nobody asks */
    void *(*allocate)(size_t size_bytes);  /* an engine's: contexts. NULL: as anything else */
};

#define TREE_SITED_CONTEXTS 65536
#define TREE_RECURSION_LOOK 64 /* how far up the path recursion is looked for */

#define TREE_CHUNK 16384

void tree_init(struct tree *tree, uint32_t limit, bool by_site);

/* Slots, or children, are caches: `context` has none in them any more; not `child`. */
void tree_forget_children(const struct tree *tree, struct context *context);
void tree_forget_child(const struct tree *tree, struct context *context,
                       const struct context *child);

/* A new root; roots are not looked up. */
struct context *tree_new_root(struct tree *tree, struct code_function *function);

/* The child that a call from `site` enters, made if it is new. */
struct context *tree_child_of(struct tree *tree, struct context *parent, uint32_t site,
                              struct code_function *function);

/* The context of `function` in the place of `context`: below the same parent, called from the
 * same site, as far as that is known. A tail call. */
struct context *tree_in_place_of(struct tree *tree, const struct context *context,
                                 struct code_function *function);

/* The child of `parent` that stands for the same call as `like`, which is in another plane. */
struct context *tree_twin_of(struct tree *tree, struct context *parent, const struct context *like);

/* In the lower half is something that spreads contexts, with room above it for the number of a site
 * or a block: a cache can be indexed with a part of the sum. */
static inline uint64_t tree_key(uint32_t number)
{
    return (uint64_t)number << 32 | (number * 0x9e3779b1u >> 9 & ~63u);
}

static inline struct context *tree_context(const struct tree *tree, uint32_t number)
{
    return &tree->chunks[number / TREE_CHUNK][number % TREE_CHUNK];
}

static inline uint32_t context_number(const struct context *context)
{
    return (uint32_t)(context->key >> 32);
}

/* Of a line of a Python function: core/python.h. */
static inline bool context_is_line(const struct context *context)
{
    return context->function->flags & CODE_FUNCTION_LINE;
}

/* May the step from one context to the other be one that happens once, because code that the program
 * made was given another name? Then it is not to be remembered. */
static inline bool context_renamed(const struct context *from, const struct context *to)
{
    return from->function->flags & (CODE_FUNCTION_GONE | CODE_FUNCTION_ANONYMOUS) &&
           to->function->flags & (CODE_FUNCTION_JIT | CODE_FUNCTION_ANONYMOUS);
}

static inline struct tree_cache_entry *tree_cache_slot(const struct tree *tree, uint64_t key)
{
    return &tree->cache[(key * TREE_MIX) >> (64 - TREE_CACHE_BITS)];
}

/* Before the first tree_cache_slot; engines that remember children in their own way need none. */
void tree_cache_make(struct tree *tree);

/* Forgets what the cache holds: which function an address belongs to has changed. */
void tree_cache_clear(struct tree *tree);

/* The number of the call instruction at `address`, the same each time it is asked. */
uint32_t tree_site(struct tree *tree, uint64_t address, struct code_module *module);

#endif

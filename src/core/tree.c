#include "core/tree.h"
#include "core/platform.h"

#define FIRST_SLOTS (1u << 14)

/* So many slots are in a line of the processor's cache, and so many contexts have theirs there: as many
 * as there are when the table gets larger. */
#define LINE_SLOTS   8
#define LINE_PARENTS 6

static struct context *context_new(struct tree *tree)
{
    uint32_t number = tree->count;

    if (number == UINT32_MAX)
        platform_fail("more than four thousand million contexts");
    if (number / TREE_CHUNK >= tree->chunk_capacity) {
        size_t capacity = tree->chunk_capacity ? 2 * tree->chunk_capacity : 64;
        struct context **chunks = platform_allocate(capacity * sizeof *chunks);
        for (size_t i = 0; i < tree->chunk_capacity; i++)
            chunks[i] = tree->chunks[i];
        platform_release(tree->chunks, tree->chunk_capacity * sizeof *chunks);
        tree->chunks = chunks;
        tree->chunk_capacity = capacity;
    }
    if (number % TREE_CHUNK == 0) {
        const size_t size_bytes = TREE_CHUNK * sizeof(struct context);
        tree->chunks[number / TREE_CHUNK] =
            tree->allocate ? tree->allocate(size_bytes) : platform_allocate(size_bytes);
    }
    tree->count++;
    struct context *context = tree_context(tree, number);
    context->key = tree_key(number);
    if (tree->by_entry)
        tree_forget_children(tree, context);
    return context;
}

void tree_forget_children(const struct tree *tree, struct context *context)
{
    for (unsigned i = 0; i < CONTEXT_SLOTS; i++)
        context->slots[i] = (struct context_slot){0};
    for (unsigned i = 0; tree->by_entry && i < CONTEXT_CHILDREN; i++)
        context->children[i] = (uintptr_t)tree->nobody;
}

void tree_forget_child(const struct tree *tree, struct context *context,
                       const struct context *child)
{
    for (unsigned i = tree->by_entry ? 2 : 0; i < CONTEXT_SLOTS; i++)
        if (context->slots[i].child == child)
            context->slots[i] = (struct context_slot){0};
    for (unsigned i = 0; tree->by_entry && i < CONTEXT_CHILDREN; i++)
        if (context->children[i] == (uintptr_t)child)
            context->children[i] = (uintptr_t)tree->nobody;
}

void tree_cache_clear(struct tree *tree)
{
    tree->cache_clears++;
    if (!tree->cache)
        return;
    /* An empty entry never hits, and its child can be looked at all the same. */
    for (size_t i = 0; i < (size_t)1 << TREE_CACHE_BITS; i++)
        tree->cache[i] = (struct tree_cache_entry){.key = UINT64_MAX, .child = tree->nobody};
}

void tree_init(struct tree *tree, uint32_t limit, bool by_site)
{
    *tree = (struct tree){.limit = limit, .by_site = by_site};
    tree->nobody = platform_allocate(sizeof *tree->nobody);
    tree->slot_count = FIRST_SLOTS;
    tree->slots = platform_allocate(tree->slot_count * sizeof *tree->slots);
    tree->site_capacity = 1024;
    tree->sites = platform_allocate(tree->site_capacity * sizeof *tree->sites);
    tree->site_count = 1;
    tree->site_slot_count = FIRST_SLOTS;
    tree->site_slots = platform_allocate(tree->site_slot_count * sizeof *tree->site_slots);
}

void tree_cache_make(struct tree *tree)
{
    tree->cache = platform_allocate(sizeof *tree->cache << TREE_CACHE_BITS);
    tree_cache_clear(tree);
}

struct context *tree_new_root(struct tree *tree, struct code_function *function)
{
    struct context *root = context_new(tree);

    root->function = function;
    root->code = function;
    if (tree->made)
        tree->made(root);
    return root;
}

static uint32_t hash_context(const struct context *parent, uint32_t site,
                             const struct code_function *function)
{
    uint64_t hash = (parent->key + site) * TREE_MIX;

    return (hash ^ (hash >> 29) ^ (uintptr_t)function >> 4) * TREE_MIX >> 32;
}

/* What stands for the site in the hash: nothing, if the context is for all of them. */
static uint32_t key_site(const struct context *context)
{
    return context->flags & CONTEXT_ALL_SITES ? 0 : context->site;
}

/* Beyond the limit a call to a function that is already on the path goes back to it. */
static struct context *fold_recursion(struct tree *tree, struct context *parent,
                                      const struct code_function *function)
{
    for (struct context *above = parent; above; above = above->parent)
        if (above->function == function) {
            tree->folded++;
            return above;
        }
    return NULL;
}

/* Slots that may have a child of `parent`: those of its line, then from where the hash says on. */
struct slot_walk {
    size_t at, left; /* of the line */
};

static struct slot_walk slots_of(const struct tree *tree, const struct context *parent)
{
    size_t line = context_number(parent) / LINE_PARENTS;

    return (struct slot_walk){line * LINE_SLOTS & (tree->slot_count - 1), LINE_SLOTS};
}

static struct tree_slot *next_slot(const struct tree *tree, struct slot_walk *walk, uint32_t hash)
{
    if (walk->left && !--walk->left)
        walk->at = hash & (tree->slot_count - 1);
    else
        walk->at = (walk->at + 1) & (tree->slot_count - 1);
    return &tree->slots[walk->at];
}

/* The context with this key, or NULL; *hash is the key's. */
static struct context *find_child(const struct tree *tree, const struct context *parent,
                                  uint32_t site, const struct code_function *function,
                                  uint32_t *hash)
{
    struct slot_walk walk = slots_of(tree, parent);

    *hash = hash_context(parent, site, function);
    for (const struct tree_slot *slot = &tree->slots[walk.at]; slot->context;
         slot = next_slot(tree, &walk, *hash)) {
        if (slot->hash != *hash)
            continue;
        struct context *child = tree_context(tree, slot->context - 1);
        if (child->parent == parent && key_site(child) == site && child->function == function)
            return child;
    }
    return NULL;
}

static void put_in_slot(struct tree *tree, uint32_t hash, const struct context *context)
{
    struct slot_walk walk = slots_of(tree, context->parent);
    struct tree_slot *slot = &tree->slots[walk.at];

    while (slot->context)
        slot = next_slot(tree, &walk, hash);
    *slot = (struct tree_slot){.hash = hash, .context = context_number(context) + 1};
}

static void slots_grow(struct tree *tree)
{
    platform_release(tree->slots, tree->slot_count * sizeof *tree->slots);
    tree->slot_count *= 2;
    tree->slots = platform_allocate(tree->slot_count * sizeof *tree->slots);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct context *context = tree_context(tree, i);
        if (context->parent)
            put_in_slot(tree, hash_context(context->parent, key_site(context), context->function),
                        context);
    }
}

static void slots_add(struct tree *tree, uint32_t hash, const struct context *context)
{
    if (4 * (uint64_t)tree->count > 3 * (uint64_t)tree->slot_count)
        slots_grow(tree);
    else
        put_in_slot(tree, hash, context);
}

/* One that there is none of yet; `hash` is its key's. */
static struct context *add_child(struct tree *tree, struct context *parent, uint32_t site,
                                 struct code_function *function, uint32_t flags, uint32_t hash)
{
    if (tree->limit && tree->count >= tree->limit) {
        struct context *above = fold_recursion(tree, parent, function);
        if (above)
            return above;
    }
    struct context *child = context_new(tree);
    child->parent = parent;
    child->site = site;
    child->function = function;
    child->code = function;
    child->flags = flags;
    child->depth = parent->depth + 1;
    if (child->depth > tree->max_depth)
        tree->max_depth = child->depth;
    if (tree->made)
        tree->made(child);
    slots_add(tree, hash, child);
    return child;
}

static struct context *make_child(struct tree *tree, struct context *parent, uint32_t site,
                                  struct code_function *function, uint32_t flags)
{
    uint32_t hash;
    struct context *known =
        find_child(tree, parent, flags & CONTEXT_ALL_SITES ? 0 : site, function, &hash);

    return known ? known : add_child(tree, parent, site, function, flags, hash);
}

static bool is_on_path(const struct context *context, const struct code_function *function)
{
    for (unsigned i = 0; context && i < TREE_RECURSION_LOOK; i++, context = context->parent)
        if (context->function == function)
            return true;
    return false;
}

static size_t pair_slot(const struct tree *tree, uint64_t pair)
{
    size_t at = (pair * TREE_MIX >> 24) & (tree->site_pair_capacity - 1);

    while (tree->site_pairs[at] && tree->site_pairs[at] != pair)
        at = (at + 1) & (tree->site_pair_capacity - 1);
    return at;
}

static void note_site(struct tree *tree, const struct context *context, uint32_t site)
{
    if (2 * tree->site_pair_count >= tree->site_pair_capacity) {
        uint64_t *old = tree->site_pairs;
        size_t old_capacity = tree->site_pair_capacity;
        tree->site_pair_capacity = old_capacity ? 2 * old_capacity : 4096;
        tree->site_pairs = platform_allocate(tree->site_pair_capacity * sizeof *old);
        for (size_t i = 0; i < old_capacity; i++)
            if (old[i])
                tree->site_pairs[pair_slot(tree, old[i])] = old[i];
        platform_release(old, old_capacity * sizeof *old);
    }
    uint64_t pair = (uint64_t)context_number(context) << 32 | site;
    size_t at = pair_slot(tree, pair);
    if (!tree->site_pairs[at]) {
        tree->site_pairs[at] = pair;
        tree->site_pair_count++;
    }
}

struct context *tree_child_of(struct tree *tree, struct context *parent, uint32_t site,
                              struct code_function *function)
{
    /* Without a site, and in a module whose lines nobody can know, there is nothing to tell. */
    bool by_site = tree->by_site && site && tree->sites[site].module->has_lines;
    bool may_be_sited = by_site && context_number(parent) < TREE_SITED_CONTEXTS;

    if (!site)
        return make_child(tree, parent, 0, function, 0);
    if (may_be_sited) {
        uint32_t hash;
        struct context *child = find_child(tree, parent, site, function, &hash);
        if (child)
            return child;
        if (tree->count < TREE_SITED_CONTEXTS && !is_on_path(parent, function))
            return add_child(tree, parent, site, function, 0, hash);
    }
    struct context *child = make_child(tree, parent, site, function, CONTEXT_ALL_SITES);
    if (by_site && child->site != site && child->parent == parent)
        note_site(tree, child, site);
    return child;
}

/* Which site of a context for all of them was used by the frame that is replaced, is not known. */
struct context *tree_in_place_of(struct tree *tree, const struct context *context,
                                 struct code_function *function)
{
    uint32_t flags = context->flags & CONTEXT_ALL_SITES;

    return make_child(tree, context->parent, tree->by_site && flags ? 0 : context->site, function,
                      flags);
}

struct context *tree_twin_of(struct tree *tree, struct context *parent, const struct context *like)
{
    struct context *twin = make_child(tree, parent, like->site, like->function, like->flags);

    twin->code = like->code;
    return twin;
}

/* ---- sites ---- */

static size_t site_slot(const struct tree *tree, uint64_t address)
{
    size_t at = (address * TREE_MIX >> 24) & (tree->site_slot_count - 1);

    while (tree->site_slots[at] && tree->sites[tree->site_slots[at]].address != address)
        at = (at + 1) & (tree->site_slot_count - 1);
    return at;
}

static void sites_grow(struct tree *tree)
{
    struct site *sites = platform_allocate(2 * tree->site_capacity * sizeof *sites);

    for (uint32_t i = 0; i < tree->site_count; i++)
        sites[i] = tree->sites[i];
    platform_release(tree->sites, tree->site_capacity * sizeof *sites);
    tree->sites = sites;
    tree->site_capacity *= 2;
    if (2 * tree->site_capacity <= tree->site_slot_count)
        return;
    platform_release(tree->site_slots, tree->site_slot_count * sizeof *tree->site_slots);
    tree->site_slot_count *= 2;
    tree->site_slots = platform_allocate(tree->site_slot_count * sizeof *tree->site_slots);
    for (uint32_t i = 1; i < tree->site_count; i++)
        tree->site_slots[site_slot(tree, tree->sites[i].address)] = i;
}

uint32_t tree_site(struct tree *tree, uint64_t address, struct code_module *module)
{
    size_t at = site_slot(tree, address);
    uint32_t number = tree->site_slots[at];

    /* The same address in another module: the memory was mapped anew, and so is the site. The
     * old one keeps its number in the contexts that have it. */
    if (number && tree->sites[number].module == module)
        return number;
    if (tree->site_count == tree->site_capacity) {
        sites_grow(tree);
        at = site_slot(tree, address);
    }
    number = tree->site_count++;
    tree->sites[number] = (struct site){.address = address, .module = module};
    tree->site_slots[at] = number;
    return number;
}

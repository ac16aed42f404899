#include "profile/raw_lines.h"
#include "common/memory.h"
#include "profile/order.h"

#include <stdlib.h>

struct taking {
    struct profile *profile;
    uint32_t *moved; /* by old context: the new one */
    uint32_t *line;  /* by old context: the line it runs for, 0: none */
    uint32_t kept;
    /* Hash of a new context's parent, function and site: its number + 1, 0: free. As it has room for all
     * from the beginning and says no more, few looks at it wait for memory. */
    uint32_t *children;
    size_t child_slots;
    /* Of lines: their numbers stand for blocks, to be put in order. At most one for each old context. */
    struct block_count *rows;
    size_t row_count;
};

static bool is_line(const struct context *context)
{
    return context->function != NONE && context->function & RAW_LINE_MARK;
}

static bool has_lines(const struct profile *profile)
{
    for (size_t i = 0; i < profile->context_count; i++)
        if (is_line(&profile->contexts[i]))
            return true;
    return false;
}

static void add_row(struct taking *taking, uint32_t context, uint32_t line, uint64_t instructions)
{
    if (line && instructions)
        taking->rows[taking->row_count++] =
            (struct block_count){.context = context, .block = line, .count = instructions};
}

static uint32_t *child_slot(const struct taking *taking, uint32_t parent, const struct context *old)
{
    const struct context *contexts = taking->profile->contexts;
    const uint64_t mix = 0x9e3779b97f4a7c15u;
    uint64_t hash = ((uint64_t)parent << 32 | old->function) * mix;
    size_t at = ((hash ^ hash >> 29) + old->site) * mix >> 24;

    for (;; at++) {
        uint32_t *slot = &taking->children[at & (taking->child_slots - 1)];
        if (!*slot)
            return slot;
        const struct context *child = &contexts[*slot - 1];
        if (child->parent == parent && child->function == old->function && child->site == old->site)
            return slot;
    }
}

/* The new context for an old one that is no line. It is never behind its old place. */
static uint32_t place_context(struct taking *taking, const struct context *old)
{
    struct context *contexts = taking->profile->contexts;

    if (old->parent == NONE) {
        contexts[taking->kept] = *old;
        return taking->kept++;
    }
    uint32_t parent = taking->moved[old->parent];
    uint32_t *slot = child_slot(taking, parent, old);
    if (!*slot) {
        *slot = ++taking->kept;
        contexts[*slot - 1] =
            (struct context){.parent = parent, .function = old->function, .site = old->site};
    }
    contexts[*slot - 1].calls += old->calls;
    contexts[*slot - 1].self_instructions += old->self_instructions;
    return *slot - 1;
}

static void take_context(struct taking *taking, size_t index)
{
    struct profile *profile = taking->profile;
    const struct context old = profile->contexts[index];

    if (is_line(&old)) {
        taking->moved[index] = taking->moved[old.parent];
        taking->line[index] = old.function & ~RAW_LINE_MARK;
        profile->contexts[taking->moved[index]].self_instructions += old.self_instructions;
    } else {
        bool python = profile->functions[old.function].kind == FUNCTION_PYTHON;
        taking->moved[index] = place_context(taking, &old);
        taking->line[index] = python || old.parent == NONE ? 0 : taking->line[old.parent];
    }
    add_row(taking, taking->moved[index], taking->line[index], old.self_instructions);
}

static void join_rows(struct taking *taking)
{
    struct profile *profile = taking->profile;
    size_t count = order_counts(taking->rows, taking->row_count, profile->context_count);

    profile->lines = memory_grow(profile->lines, &profile->line_capacity,
                                 profile->line_count + count, sizeof *profile->lines);
    for (size_t i = 0; i < count; i++)
        profile->lines[profile->line_count++] =
            (struct line_count){.context = taking->rows[i].context,
                                .line = taking->rows[i].block,
                                .instructions = taking->rows[i].count};
    free(taking->rows);
}

uint32_t *raw_take_lines_out(struct profile *profile)
{
    struct taking taking = {.profile = profile};

    if (!has_lines(profile))
        return NULL;
    taking.moved = memory_allocate(profile->context_count * sizeof *taking.moved);
    taking.line = memory_allocate(profile->context_count * sizeof *taking.line);
    taking.rows = memory_allocate(profile->context_count * sizeof *taking.rows);
    for (taking.child_slots = 1; taking.child_slots < 2 * profile->context_count;)
        taking.child_slots *= 2;
    taking.children = memory_allocate_zeroed(taking.child_slots, sizeof *taking.children);
    for (size_t i = 0; i < profile->context_count; i++)
        take_context(&taking, i);
    profile->context_count = taking.kept;
    for (size_t i = 0; i < profile->root_count; i++)
        profile->roots[i].context = taking.moved[profile->roots[i].context];
    join_rows(&taking);
    free(taking.children);
    free(taking.line);
    return taking.moved;
}

#include "profile/raw_lines.h"
#include "common/map.h"
#include "common/memory.h"
#include "profile/order.h"

#include <stdlib.h>

struct taking {
    struct profile *profile;
    uint32_t *moved;     /* by old context: the new one */
    uint32_t *line;      /* by old context: the line it runs for, 0: none */
    struct map calls;    /* (function, site) -> number of the pair */
    struct map children; /* (new parent, number of the pair) -> new context */
    uint32_t kept;
    struct block_count *rows; /* of lines: their numbers stand for blocks, to be put in order */
    size_t row_count, row_capacity;
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
        *array_push(taking->rows, taking->row_count, taking->row_capacity) =
            (struct block_count){.context = context, .block = line, .count = instructions};
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
    uint32_t *call = map_place(&taking->calls, map_pair(old->function, old->site));
    if (*call == MAP_ABSENT)
        *call = (uint32_t)taking->calls.count;
    uint32_t *place = map_place(&taking->children, map_pair(parent, *call));
    if (*place == MAP_ABSENT) {
        *place = taking->kept++;
        contexts[*place] =
            (struct context){.parent = parent, .function = old->function, .site = old->site};
    }
    contexts[*place].calls += old->calls;
    contexts[*place].self_instructions += old->self_instructions;
    return *place;
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
    for (size_t i = 0; i < profile->context_count; i++)
        take_context(&taking, i);
    profile->context_count = taking.kept;
    for (size_t i = 0; i < profile->root_count; i++)
        profile->roots[i].context = taking.moved[profile->roots[i].context];
    join_rows(&taking);
    map_free(&taking.calls);
    map_free(&taking.children);
    free(taking.line);
    return taking.moved;
}

#include "profile/raw_lines.h"
#include "common/map.h"
#include "common/memory.h"

#include <stdlib.h>

struct taking {
    struct profile *profile;
    uint32_t *moved;     /* by old context: the new one */
    uint32_t *line;      /* by old context: the line it runs for, 0: none */
    struct map calls;    /* (function, site) -> number of the pair */
    struct map children; /* (new parent, number of the pair) -> new context */
    uint32_t kept;
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

static void add_row(struct profile *profile, uint32_t context, uint32_t line, uint64_t instructions)
{
    if (line && instructions)
        *array_push(profile->lines, profile->line_count, profile->line_capacity) =
            (struct line_count){.context = context, .line = line, .instructions = instructions};
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
    add_row(profile, taking->moved[index], taking->line[index], old.self_instructions);
}

static int compare_rows(const void *a, const void *b)
{
    const struct line_count *one = a, *other = b;

    if (one->context != other->context)
        return one->context < other->context ? -1 : 1;
    return one->line < other->line ? -1 : one->line > other->line;
}

static void join_rows(struct profile *profile)
{
    struct line_count *rows = profile->lines;
    size_t kept = 0;

    if (profile->line_count)
        qsort(rows, profile->line_count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < profile->line_count; i++) {
        if (kept && !compare_rows(&rows[kept - 1], &rows[i]))
            rows[kept - 1].instructions += rows[i].instructions;
        else
            rows[kept++] = rows[i];
    }
    profile->line_count = kept;
}

static void move_counts(const struct taking *taking)
{
    struct profile *profile = taking->profile;

    for (size_t i = 0; i < profile->count_count; i++)
        profile->counts[i].context = taking->moved[profile->counts[i].context];
}

void raw_take_lines_out(struct profile *profile)
{
    struct taking taking = {.profile = profile};

    if (!has_lines(profile))
        return;
    taking.moved = memory_allocate(profile->context_count * sizeof *taking.moved);
    taking.line = memory_allocate(profile->context_count * sizeof *taking.line);
    for (size_t i = 0; i < profile->context_count; i++)
        take_context(&taking, i);
    profile->context_count = taking.kept;
    for (size_t i = 0; i < profile->root_count; i++)
        profile->roots[i].context = taking.moved[profile->roots[i].context];
    move_counts(&taking);
    join_rows(profile);
    map_free(&taking.calls);
    map_free(&taking.children);
    free(taking.moved);
    free(taking.line);
}

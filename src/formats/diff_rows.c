#include "common/memory.h"
#include "formats/diffs.h"

#include <stdlib.h>
#include <string.h>

int64_t diff_change(uint64_t base, uint64_t new)
{
    uint64_t size = new > base ? new - base : base - new;
    int64_t most = size > INT64_MAX ? INT64_MAX : (int64_t)size;

    return new >= base ? most : -most;
}

const char *diff_percent(char *text, uint64_t base, uint64_t new)
{
    if (base == new || base == 0 || new == 0)
        strcpy(text, base == new ? "" : base == 0 ? "new" : "gone");
    else
        snprintf(text, 16, "%+.2f%%", 100.0 * ((double)new - (double)base) / (double)base);
    return text;
}

static uint64_t change_size(const struct diff_row *row)
{
    return row->new > row->base ? row->new - row->base : row->base - row->new;
}

static int compare_rows(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;

    if (change_size(x) != change_size(y))
        return change_size(x) > change_size(y) ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static struct diff_rows sorted(struct diff_row *rows, size_t count)
{
    if (count)
        qsort(rows, count, sizeof *rows, compare_rows);
    return (struct diff_rows){rows, count};
}

struct diff_rows diff_changed_functions(const struct diff *diff,
                                        const struct diff_function *functions)
{
    struct diff_row *rows = memory_allocate(diff->tree->frame_count * sizeof *rows);
    size_t count = 0;

    for (uint32_t i = 0; i < diff->tree->frame_count; i++) {
        const struct function_cost *base = &functions[i].base, *new = &functions[i].new;
        if (base->self != new->self || base->total != new->total || base->calls != new->calls)
            rows[count++] = (struct diff_row){i, base->self, new->self};
    }
    return sorted(rows, count);
}

struct diff_rows diff_changed_nodes(const struct diff *diff)
{
    const struct view *tree = diff->tree;
    struct diff_row *rows = memory_allocate(tree->node_count * sizeof *rows);
    size_t count = 0;

    for (uint32_t i = 0; i < tree->node_count; i++)
        if (diff->base_self[i] != tree->self[i])
            rows[count++] = (struct diff_row){i, diff->base_self[i], tree->self[i]};
    return sorted(rows, count);
}

/* Filled from its end, because the way goes up. */
char *diff_path(const struct diff *diff, uint32_t node)
{
    const struct view *tree = diff->tree;
    size_t length = 0;

    for (uint32_t at = node; at != NONE; at = tree->parent[at])
        length += strlen(tree->frames[tree->frame[at]].name) + 1;
    char *path = memory_allocate(length + 1), *end = path + length;
    *end = 0;
    for (uint32_t at = node; at != NONE; at = tree->parent[at]) {
        const char *name = tree->frames[tree->frame[at]].name;
        if (at != node)
            *--end = ';';
        end -= strlen(name);
        for (size_t i = 0; name[i]; i++)
            end[i] = name[i] == ';' ? ':' : name[i] == '\n' || name[i] == '\r' ? ' ' : name[i];
    }
    memmove(path, end, strlen(end) + 1);
    return path;
}

/*
 * order.c: see order.h.
 *
 * A recording at line detail has millions of rows and a hundred thousand contexts, so rows are
 * dealt out by context in one pass, and what is left to sort are a context's few blocks.
 */
#include "profile/order.h"
#include "common/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FEW 16

static int compare_blocks(const void *a, const void *b)
{
    const struct block_count *one = a, *other = b;

    return one->block < other->block ? -1 : one->block > other->block;
}

/* Of one context. */
static void sort_blocks(struct block_count *rows, size_t count)
{
    if (count > FEW) {
        qsort(rows, count, sizeof *rows, compare_blocks);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct block_count row = rows[i];
        size_t at = i;
        for (; at && rows[at - 1].block > row.block; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

static bool is_in_order(const struct block_count *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[i - 1].context > rows[i].context ||
            (rows[i - 1].context == rows[i].context && rows[i - 1].block >= rows[i].block))
            return false;
    return true;
}

static size_t join(struct block_count *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept && rows[kept - 1].context == rows[i].context &&
            rows[kept - 1].block == rows[i].block)
            rows[kept - 1].count += rows[i].count;
        else
            rows[kept++] = rows[i];
    }
    return kept;
}

size_t order_counts(struct block_count *rows, size_t count, size_t context_count)
{
    if (is_in_order(rows, count))
        return count;
    size_t *next = memory_allocate_zeroed(context_count + 1, sizeof *next);
    struct block_count *dealt = memory_allocate(count * sizeof *dealt);
    for (size_t i = 0; i < count; i++)
        next[rows[i].context + 1]++;
    for (size_t i = 0; i < context_count; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < count; i++)
        dealt[next[rows[i].context]++] = rows[i];
    /* Now next[i] is where context i ends. */
    for (size_t i = 0; i < context_count; i++)
        sort_blocks(dealt + (i ? next[i - 1] : 0), next[i] - (i ? next[i - 1] : 0));
    memcpy(rows, dealt, count * sizeof *rows);
    free(dealt);
    free(next);
    return join(rows, count);
}

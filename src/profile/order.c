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

/* Blocks are numbered as they were found, and a context's mostly come in that order already. */
static void sort_few(struct block_count *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct block_count row = rows[i];
        size_t at = i;
        for (; at && rows[at - 1].block > row.block; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* [0, middle) and [middle, count), each in order, into one. */
static void merge(struct block_count *rows, size_t middle, size_t count,
                  struct block_count *scratch)
{
    size_t left = 0, right = middle;

    if (rows[middle - 1].block <= rows[middle].block)
        return;
    memcpy(scratch, rows, middle * sizeof *rows);
    for (size_t at = 0; left < middle; at++) {
        bool from_right = right < count && rows[right].block < scratch[left].block;
        rows[at] = from_right ? rows[right++] : scratch[left++];
    }
}

/* Of one context. As much scratch as there are rows. */
static void sort_blocks(struct block_count *rows, size_t count, struct block_count *scratch)
{
    for (size_t at = 0; at < count; at += FEW)
        sort_few(rows + at, count - at < FEW ? count - at : FEW);
    for (size_t width = FEW; width < count; width *= 2)
        for (size_t at = 0; at + width < count; at += 2 * width)
            merge(rows + at, width, count - at < 2 * width ? count - at : 2 * width, scratch);
}

static bool ascend(const struct block_count *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[i - 1].block >= rows[i].block)
            return false;
    return true;
}

static bool is_in_order(const struct block_count *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[i - 1].context > rows[i].context ||
            (rows[i - 1].context == rows[i].context && rows[i - 1].block >= rows[i].block))
            return false;
    return true;
}

/* Adds the rows of one context, in order, to those that are kept, which end before them or where they
 * begin; returns how many those are then. */
static size_t keep(struct block_count *kept, size_t kept_count, uint32_t context,
                   const struct block_count *rows, size_t count)
{
    size_t before = kept_count;

    for (size_t i = 0; i < count; i++) {
        if (kept_count > before && kept[kept_count - 1].block == rows[i].block)
            kept[kept_count - 1].count += rows[i].count;
        else
            kept[kept_count++] = (struct block_count){context, rows[i].block, rows[i].count};
    }
    return kept_count;
}

size_t order_dealt(struct block_count *rows, const size_t *ends, size_t context_count)
{
    struct block_count *scratch = NULL;
    size_t start = 0, kept = 0, capacity = 0;

    for (size_t i = 0; i < context_count; start = ends[i++]) {
        size_t count = ends[i] - start;
        if (!ascend(rows + start, count)) {
            scratch = memory_grow(scratch, &capacity, count, sizeof *scratch);
            sort_blocks(rows + start, count, scratch);
        }
        kept = keep(rows, kept, (uint32_t)i, rows + start, count);
    }
    free(scratch);
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
    size_t kept = order_dealt(dealt, next, context_count);
    memcpy(rows, dealt, kept * sizeof *rows);
    free(dealt);
    free(next);
    return kept;
}

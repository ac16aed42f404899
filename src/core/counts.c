#include "core/counts.h"
#include "core/platform.h"
#include "core/tree.h"

#define EMPTY UINT64_MAX

static struct count *allocate_empty(size_t count)
{
    struct count *rows = platform_allocate(count * sizeof *rows);

    for (size_t i = 0; i < count; i++)
        rows[i].key = EMPTY;
    return rows;
}

void counts_init(struct counts *counts)
{
    counts->cache = allocate_empty((size_t)1 << COUNTS_CACHE_BITS);
    counts->row_capacity = 1 << 16;
    counts->row_count = 0;
    counts->rows = allocate_empty(counts->row_capacity);
}

static struct count *find_row(const struct counts *counts, uint64_t key)
{
    uint64_t hash = key * TREE_MIX;
    size_t at = (hash ^ hash >> 32) & (counts->row_capacity - 1);

    while (counts->rows[at].key != key && counts->rows[at].key != EMPTY)
        at = (at + 1) & (counts->row_capacity - 1);
    return &counts->rows[at];
}

static void add_to_rows(struct counts *counts, const struct count *from)
{
    struct count *row = find_row(counts, from->key);

    row->count += from->count;
    if (row->key != EMPTY)
        return;
    row->key = from->key;
    if (4 * ++counts->row_count <= 3 * counts->row_capacity)
        return;
    struct count *old = counts->rows;
    size_t old_capacity = counts->row_capacity;
    counts->row_capacity *= 2;
    counts->rows = allocate_empty(counts->row_capacity);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].key != EMPTY)
            *find_row(counts, old[i].key) = old[i];
    platform_release(old, old_capacity * sizeof *old);
}

struct count *counts_miss(struct counts *counts, uint64_t key)
{
    struct count *entry = &counts->cache[(key * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];

    if (entry->key != EMPTY && entry->count)
        add_to_rows(counts, entry);
    entry->key = key;
    entry->count = 0;
    return entry;
}

void counts_flush(struct counts *counts)
{
    for (size_t i = 0; i < (size_t)1 << COUNTS_CACHE_BITS; i++) {
        struct count *entry = &counts->cache[i];
        if (entry->key != EMPTY && entry->count)
            add_to_rows(counts, entry);
        entry->key = EMPTY;
        entry->count = 0;
    }
}

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
    counts->late = NULL;
    counts->late_count = 0;
    counts->late_owe = false;
}

static struct count *find_row(const struct counts *counts, uint64_t key)
{
    /* Neighbouring blocks of a context, which come together, are neighbours here too. */
    uint64_t hash = (key >> 3) * TREE_MIX;
    size_t at = ((hash ^ hash >> 32) << 3 | (key & 7)) & (counts->row_capacity - 1);

    while (counts->rows[at].key != key && counts->rows[at].key != EMPTY)
        at = (at + 1) & (counts->row_capacity - 1);
    return &counts->rows[at];
}

void counts_add(struct counts *counts, uint64_t key, uint64_t count)
{
    struct count *row = find_row(counts, key);

    row->count += count;
    if (row->key != EMPTY)
        return;
    row->key = key;
    if (2 * ++counts->row_count <= counts->row_capacity)
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

static void add_late_ones(struct counts *counts)
{
    for (size_t i = 0; i < counts->late_count; i++)
        counts_add(counts, counts->late[i].key, counts->late[i].count);
    counts->late_count = 0;
    counts->late_owe = false;
}

void counts_add_late(struct counts *counts, uint64_t key, uint64_t count)
{
    if (!counts->late)
        counts->late = platform_allocate(COUNTS_MOST_LATE * sizeof *counts->late);
    if (counts->late_count == COUNTS_MOST_LATE)
        add_late_ones(counts);
    counts->late_owe |= (int64_t)count < 0;
    counts->late[counts->late_count++] = (struct count){.key = key, .count = count};
}

uint64_t counts_get(struct counts *counts, uint64_t key)
{
    add_late_ones(counts);
    return find_row(counts, key)->count;
}

struct count *counts_miss(struct counts *counts, uint64_t key)
{
    struct count *entry = &counts->cache[(key * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];

    if (entry->key != EMPTY && entry->count)
        counts_add(counts, entry->key, entry->count);
    entry->key = key;
    entry->count = 0;
    return entry;
}

void counts_flush(struct counts *counts)
{
    if (counts->late_owe)
        add_late_ones(counts);
    for (size_t i = 0; i < (size_t)1 << COUNTS_CACHE_BITS; i++) {
        struct count *entry = &counts->cache[i];
        if (entry->key != EMPTY && entry->count)
            counts_add(counts, entry->key, entry->count);
        entry->key = EMPTY;
        entry->count = 0;
    }
}

#include "core/counts.h"
#include "core/number.h"
#include "core/platform.h"
#include "core/raw.h"
#include "core/tree.h"

#define CACHE_BYTES (sizeof(struct count) << COUNTS_CACHE_BITS)

void counts_init(struct counts *counts)
{
    *counts = (struct counts){.cache = platform_allocate(CACHE_BYTES), .row_capacity = 1 << 12};
    counts->rows = platform_allocate(counts->row_capacity * sizeof *counts->rows);
}

void counts_begin_again(struct counts *counts)
{
    platform_release(counts->cache, CACHE_BYTES);
    platform_release(counts->rows, counts->row_capacity * sizeof *counts->rows);
    if (counts->late)
        platform_release(counts->late, COUNTS_LATE_BYTES);
    counts_init(counts);
}

static struct count *find_row(const struct counts *counts, uint64_t key)
{
    /* Neighbouring blocks of a context, which come together, are neighbours here too. */
    uint64_t hash = (key >> 3) * TREE_MIX;
    size_t at = ((hash ^ hash >> 32) << 3 | (key & 7)) & (counts->row_capacity - 1);

    while (counts->rows[at].key != key && counts->rows[at].key != COUNTS_EMPTY)
        at = (at + 1) & (counts->row_capacity - 1);
    return &counts->rows[at];
}

void counts_add(struct counts *counts, uint64_t key, uint64_t count)
{
    struct count *row = find_row(counts, key);

    row->count += count;
    if (row->key != COUNTS_EMPTY)
        return;
    row->key = key;
    if (2 * ++counts->row_count <= counts->row_capacity)
        return;
    struct count *old = counts->rows;
    size_t old_capacity = counts->row_capacity;
    counts->row_capacity *= 2;
    counts->rows = platform_allocate(counts->row_capacity * sizeof *counts->rows);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].key != COUNTS_EMPTY)
            *find_row(counts, old[i].key) = old[i];
    platform_release(old, old_capacity * sizeof *old);
}

/* *key is that of the last block before, and then of the run's own. */
static const uint8_t *take_late(const uint8_t *at, uint64_t *key, struct count_run *run)
{
    run->key = *key + (uint64_t)number_to_signed(number_take(&at));
    run->count = number_take(&at);
    run->blocks = *at++ + 1u;
    *key = run->key + run->blocks - 1;
    return at;
}

static void add_late_ones(struct counts *counts)
{
    struct count_run run;
    uint64_t key = 0;

    for (const uint8_t *at = counts->late; at < counts->late_end;) {
        at = take_late(at, &key, &run);
        for (uint32_t i = 0; i < run.blocks; i++)
            counts_add(counts, run.key + i, run.count);
    }
    counts->late_end = counts->late;
    counts->late_key = 0;
    counts->late_owe = false;
}

static bool continues_run(const struct counts *counts, uint64_t key, uint64_t count)
{
    return key == counts->late_key + 1 && count == counts->late_count &&
           counts->late_end > counts->late && counts->late_end[-1] < RAW_RUN_MOST - 1 &&
           counts_key_block(counts->late_key);
}

void counts_add_late(struct counts *counts, uint64_t key, uint64_t count)
{
    if (continues_run(counts, key, count)) {
        counts->late_end[-1]++;
        counts->late_key = key;
        return;
    }
    if (!counts->late)
        counts->late = counts->late_end = platform_allocate(COUNTS_LATE_BYTES);
    if (counts->late_end + 2 * NUMBER_BYTES + 1 > counts->late + COUNTS_LATE_BYTES)
        add_late_ones(counts);
    uint64_t further = number_from_signed((int64_t)(key - counts->late_key));
    counts->late_end = number_put(number_put(counts->late_end, further), count);
    *counts->late_end++ = 0;
    counts->late_key = key;
    counts->late_count = count;
    counts->late_owe |= (int64_t)count < 0;
}

const struct count_run *counts_next(const struct counts *counts, struct counts_walk *walk)
{
    while (walk->slot < counts->row_capacity) {
        const struct count *row = &counts->rows[walk->slot++];
        if (row->key == COUNTS_EMPTY)
            continue;
        walk->taken = (struct count_run){.key = row->key, .count = row->count, .blocks = 1};
        return &walk->taken;
    }
    if (!walk->at)
        walk->at = counts->late;
    if (walk->at == counts->late_end)
        return NULL;
    walk->at = take_late(walk->at, &walk->late_key, &walk->taken);
    return &walk->taken;
}

uint64_t counts_get(struct counts *counts, uint64_t key)
{
    add_late_ones(counts);
    return find_row(counts, key)->count;
}

struct count *counts_miss(struct counts *counts, uint64_t key)
{
    struct count *entry = &counts->cache[(key * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];

    counts->cached = true;
    if (entry->count)
        counts_add(counts, entry->key, entry->count);
    entry->key = key;
    entry->count = 0;
    return entry;
}

void counts_flush(struct counts *counts)
{
    if (counts->late_owe)
        add_late_ones(counts);
    for (size_t i = 0; counts->cached && i < (size_t)1 << COUNTS_CACHE_BITS; i++) {
        struct count *entry = &counts->cache[i];
        if (!entry->count)
            continue;
        counts_add(counts, entry->key, entry->count);
        entry->count = 0;
    }
}

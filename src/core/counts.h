/*
 * counts.h: how often each context ran each block; the line detail.
 *
 * Sparse: a pair that never ran takes no memory. A direct-mapped cache of counters, which engines
 * reach with inline code, stands in front of an open hash table; a counter that is pushed out of
 * the cache is added to its row of the table.
 *
 *     key   = context.key + block             block is its number, below 2^32
 *     entry = cache[(key * TREE_MIX) >> shift]
 *     hit   : entry.key == key    ->  entry.count += 1
 *     miss  : counts_miss(), which brings the pair into that entry, then as a hit
 *
 * Block 0 is none: what an engine has there for the context of a Python line are instructions of
 * the line, that it has counted in blocks of the function's context.
 *
 * An engine with a cache of its own can as well add rows later: they are noted one after the other,
 * which touches far less memory than a large hash table, and are mostly pairs that do not come
 * again. So a pair may have several rows. Blocks with neighbouring numbers, which were first executed
 * one after the other, mostly come one after the other and have run as often: they are one run, which
 * is how much its key is more than the last one's, its count, and how many blocks more it has, a few
 * bytes in all: there are millions when a program ends.
 */
#ifndef TRUEFLAME_CORE_COUNTS_H
#define TRUEFLAME_CORE_COUNTS_H

#include "core/tree.h"

struct count {
    uint64_t key;
    uint64_t count;
};

/* Some neighbouring blocks of a context, each counted as often. */
struct count_run {
    uint64_t key; /* of the first */
    uint64_t count;
    uint32_t blocks;
};

/* The key of a row that is not used, as memory comes: the first context has no block 0. */
#define COUNTS_EMPTY 0

#define COUNTS_CACHE_BITS 17

struct counts {
    struct count *cache; /* 1 << COUNTS_CACHE_BITS */
    bool cached;         /* it has been used */
    struct count *rows;
    size_t row_count, row_capacity;
    uint8_t *late, *late_end; /* of COUNTS_LATE_BYTES; NULL: there were none yet */
    uint64_t late_key;        /* of the last one's last block */
    uint64_t late_count;      /* its count */
    bool late_owe;            /* one of them takes back from another row */
};

#define COUNTS_LATE_BYTES ((size_t)1 << 26)

void counts_init(struct counts *counts);

/* In the child of a fork: nothing was counted. */
void counts_begin_again(struct counts *counts);

/* Makes room in the cache for `key`, with a count of 0 to go on from. Returns its entry. */
struct count *counts_miss(struct counts *counts, uint64_t key);

/* Past the cache. */
void counts_add(struct counts *counts, uint64_t key, uint64_t count);
uint64_t counts_get(struct counts *counts, uint64_t key);

/* As counts_add, in a row of its own for now. */
void counts_add_late(struct counts *counts, uint64_t key, uint64_t count);

/* Adds what the cache holds to the rows, whose counts are then what they say; the cache counts from
 * nothing again. */
void counts_flush(struct counts *counts);

/* What a key was made of. */
static inline uint32_t counts_key_context(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t counts_key_block(uint64_t key)
{
    return (uint32_t)(key - tree_key(counts_key_context(key)));
}

/* All rows, one run of them after the other; begins with nothing but zeros. */
struct counts_walk {
    size_t slot;            /* of counts.rows, the next one */
    const uint8_t *at;      /* in counts.late, the next one */
    uint64_t late_key;      /* of the last block of the one before */
    struct count_run taken;
};

/* The next rows, until others are asked for; NULL: those were the last. Block 0 is in no run. */
const struct count_run *counts_next(const struct counts *counts, struct counts_walk *walk);

#endif

/*
 * blocks.c: where blocks live and how they are found: chunks of memory, a hash table by address,
 * and a small direct-mapped cache in front of it for jumps through registers.
 */
#include "engines/riscv/machine.h"

#include "common/memory.h"
#include "engines/riscv/profiling.h"
#include "engines/riscv/translate.h"
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (1u << 20)
#define SCRATCH_BYTES                                                                              \
    ((sizeof(struct block) + TRANSLATION_OPS * sizeof(struct op) + 63) & ~(size_t)63)

struct block_chunk {
    struct block_chunk *before;
    size_t used;
    _Alignas(64) uint8_t bytes[CHUNK_BYTES];
};

void blocks_create(struct block_cache *cache)
{
    cache->scratch = aligned_alloc(64, SCRATCH_BYTES);
    if (!cache->scratch)
        memory_allocate(SIZE_MAX); /* says so and ends the process */
    blocks_flush(cache);
}

void blocks_flush(struct block_cache *cache)
{
    while (cache->chunks) {
        struct block_chunk *chunk = cache->chunks;
        cache->chunks = chunk->before;
        free(chunk);
    }
    free(cache->table);
    cache->table = NULL;
    cache->count = cache->capacity = 0;
    for (size_t i = 0; i < JUMP_CACHE_ENTRIES; i++)
        cache->jumps[i] = (struct jump_cache_entry){.address = 1};
}

void blocks_destroy(struct block_cache *cache)
{
    blocks_flush(cache);
    free(cache->scratch);
}

bool blocks_set_rounding(struct block_cache *cache, unsigned rounding)
{
    bool away = rounding == ROUND_NEAREST_AWAY, illegal = rounding > ROUND_NEAREST_AWAY;
    bool changes = away != cache->away || illegal != cache->illegal_rounding;

    cache->away = away;
    cache->illegal_rounding = illegal;
    return changes;
}

static size_t place_of(const struct block_cache *cache, uint64_t address)
{
    size_t mask = cache->capacity - 1;
    size_t place = (size_t)((address >> 1) * 0x9e3779b97f4a7c15ull >> 24) & mask;

    while (cache->table[place] && cache->table[place]->address != address)
        place = (place + 1) & mask;
    return place;
}

static void grow_table(struct block_cache *cache)
{
    struct block **old = cache->table;
    size_t old_capacity = cache->capacity;

    cache->capacity = old_capacity ? old_capacity * 2 : 1024;
    cache->table = memory_allocate_zeroed(cache->capacity, sizeof *cache->table);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i])
            cache->table[place_of(cache, old[i]->address)] = old[i];
    free(old);
}

/* Blocks start on a cache line: the header and the first operation come in together. */
static struct block *allocate_block(struct block_cache *cache, size_t op_count)
{
    size_t size_bytes = sizeof(struct block) + op_count * sizeof(struct op);

    size_bytes = (size_bytes + 63) & ~(size_t)63;
    if (!cache->chunks || cache->chunks->used + size_bytes > CHUNK_BYTES) {
        struct block_chunk *chunk = aligned_alloc(64, (sizeof *chunk + 63) & ~(size_t)63);
        if (!chunk)
            chunk = memory_allocate(SIZE_MAX); /* says so and ends the process */
        chunk->before = cache->chunks;
        chunk->used = 0;
        cache->chunks = chunk;
    }
    struct block *block = (struct block *)(cache->chunks->bytes + cache->chunks->used);
    cache->chunks->used += size_bytes;
    return block;
}

static void fill_block(struct riscv_machine *machine, struct block *block,
                       const struct translation *translation)
{
    memset(block, 0, sizeof *block);
    block->instructions = translation->instructions ? translation->instructions : BLOCK_SPECIAL;
    block->address = translation->address;
    block->end = translation->end;
    block->target = translation->target;
    block->op_count = translation->op_count;
    memcpy(block->ops, translation->ops, translation->op_count * sizeof *block->ops);
    profiling_describe_block(machine, block, translation);
}

struct block *blocks_find_short(struct riscv_machine *machine, uint64_t address, unsigned most)
{
    struct translation translation;

    if (!translate_block(machine, address, most, &translation))
        return NULL;
    fill_block(machine, machine->blocks.scratch, &translation);
    return machine->blocks.scratch;
}

static struct block *translate_and_keep(struct riscv_machine *machine, uint64_t address)
{
    struct translation translation;

    if (!translate_block(machine, address, BLOCK_MAX_INSTRUCTIONS, &translation))
        return NULL;
    struct block *block = allocate_block(&machine->blocks, translation.op_count);
    fill_block(machine, block, &translation);
    return block;
}

struct block *blocks_find(struct riscv_machine *machine, uint64_t address)
{
    struct block_cache *cache = &machine->blocks;

    if (cache->count * 2 >= cache->capacity)
        grow_table(cache);
    size_t place = place_of(cache, address);
    if (!cache->table[place]) {
        struct block *block = translate_and_keep(machine, address);
        if (!block)
            return NULL;
        cache->table[place] = block;
        cache->count++;
    }
    *blocks_jump_entry(cache, address) =
        (struct jump_cache_entry){.address = address, .block = cache->table[place]};
    return cache->table[place];
}

struct block *blocks_make_bridge(struct block_cache *cache, struct block *target)
{
    struct block *block = allocate_block(cache, 1);

    memset(block, 0, sizeof *block);
    block->instructions = BLOCK_SPECIAL;
    block->address = block->end = block->target = target->address;
    block->taken = target;
    block->op_count = 1;
    block->ops[0] = (struct op){.handler = cache->handlers[MICRO_bridge]};
    return block;
}

struct block *blocks_of_op(const struct block_cache *cache, const struct op *op)
{
    uint8_t *wanted = (uint8_t *)op;

    if (wanted >= (uint8_t *)cache->scratch && wanted < (uint8_t *)cache->scratch + SCRATCH_BYTES)
        return cache->scratch;
    for (struct block_chunk *chunk = cache->chunks; chunk; chunk = chunk->before) {
        if (wanted < chunk->bytes || wanted >= chunk->bytes + chunk->used)
            continue;
        size_t at = 0;
        for (;;) {
            struct block *block = (struct block *)(chunk->bytes + at);
            size_t size_bytes = sizeof *block + block->op_count * sizeof(struct op);
            size_bytes = (size_bytes + 63) & ~(size_t)63;
            if (wanted < chunk->bytes + at + size_bytes)
                return block;
            at += size_bytes;
        }
    }
    return NULL;
}

uint64_t blocks_address_of(const struct riscv_machine *machine, const struct block *block,
                           const struct op *op)
{
    uint64_t address = block->address;

    for (unsigned i = 0; i < op->ordinal; i++) {
        uint16_t first;
        memcpy(&first, memory_host(&machine->memory, address), sizeof first);
        address += riscv_length(first);
    }
    return address;
}

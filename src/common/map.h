/*
 * map.h: 64-bit keys to 32-bit values, in open addressing. For building tables by key in linear
 * time; two 32-bit numbers make a key with map_pair. Nothing is ever removed.
 */
#ifndef TRUEFLAME_MAP_H
#define TRUEFLAME_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_ABSENT UINT32_MAX

/* Together, since a large map is seldom near: a look at it waits for memory once. */
struct map_slot {
    uint64_t key;
    uint32_t value; /* MAP_ABSENT: the slot is free */
};

struct map {
    struct map_slot *slots;
    size_t count, slot_count;
};

static inline uint64_t map_pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* The value's place, holding MAP_ABSENT when the key is new: store into it before the next call. */
uint32_t *map_place(struct map *map, uint64_t key);

/* The value, or MAP_ABSENT. */
uint32_t map_find(const struct map *map, uint64_t key);
void map_free(struct map *map);

#endif

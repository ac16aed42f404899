/*
 * pair_map.h: from a pair of numbers (or a pointer and 0) to a number. Open addressing, at most
 * half full. A zeroed map is an empty one.
 */
#ifndef TRUEFLAME_PAIR_MAP_H
#define TRUEFLAME_PAIR_MAP_H

#include <stddef.h>
#include <stdint.h>

#define PAIR_MAP_NONE UINT32_MAX

struct pair_map_entry {
    uint64_t first, second;
    uint32_t value;
    uint32_t used;
};

struct pair_map {
    struct pair_map_entry *entries;
    size_t count, capacity; /* capacity is a power of two */
};

/* Where the value of the pair is kept: a new one holds PAIR_MAP_NONE. Valid until the next call. */
uint32_t *pair_map_at(struct pair_map *map, uint64_t first, uint64_t second);

/* The value, or PAIR_MAP_NONE when the pair is not there. */
uint32_t pair_map_get(const struct pair_map *map, uint64_t first, uint64_t second);

void pair_map_free(struct pair_map *map);

#endif

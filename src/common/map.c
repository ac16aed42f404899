#include "common/map.h"

#include "common/memory.h"
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct map *map, uint64_t key)
{
    size_t mask = map->slot_count - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15ull;
    size_t at = (hash ^ hash >> 29) * 0xd6e8feb86659fd93ull >> 20 & mask;

    while (map->values[at] != MAP_ABSENT && map->keys[at] != key)
        at = (at + 1) & mask;
    return at;
}

static void map_grow(struct map *map)
{
    struct map grown = {.slot_count = map->slot_count ? 2 * map->slot_count : 256};

    grown.keys = memory_allocate(grown.slot_count * sizeof *grown.keys);
    grown.values = memory_allocate(grown.slot_count * sizeof *grown.values);
    memset(grown.values, 0xff, grown.slot_count * sizeof *grown.values);
    grown.count = map->count;
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->values[i] == MAP_ABSENT)
            continue;
        size_t at = slot_of(&grown, map->keys[i]);
        grown.keys[at] = map->keys[i];
        grown.values[at] = map->values[i];
    }
    map_free(map);
    *map = grown;
}

uint32_t *map_place(struct map *map, uint64_t key)
{
    if (2 * (map->count + 1) > map->slot_count)
        map_grow(map);
    size_t at = slot_of(map, key);
    if (map->values[at] == MAP_ABSENT) {
        map->keys[at] = key;
        map->count++;
    }
    return &map->values[at];
}

uint32_t map_find(const struct map *map, uint64_t key)
{
    return map->slot_count ? map->values[slot_of(map, key)] : MAP_ABSENT;
}

void map_free(struct map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct map){0};
}

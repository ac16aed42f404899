#include "symbols/pair_map.h"
#include "common/memory.h"

#include <stdlib.h>

static size_t slot_of(const struct pair_map *map, uint64_t first, uint64_t second)
{
    uint64_t hash = (first ^ (second * 0xff51afd7ed558ccdu)) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 24) & (map->capacity - 1);

    while (map->entries[slot].used &&
           (map->entries[slot].first != first || map->entries[slot].second != second))
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static void grow(struct pair_map *map)
{
    struct pair_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
                              .count = map->count};

    larger.entries = memory_allocate_zeroed(larger.capacity, sizeof *larger.entries);
    for (size_t i = 0; i < map->capacity; i++) {
        struct pair_map_entry *entry = &map->entries[i];
        if (entry->used)
            larger.entries[slot_of(&larger, entry->first, entry->second)] = *entry;
    }
    free(map->entries);
    *map = larger;
}

uint32_t *pair_map_at(struct pair_map *map, uint64_t first, uint64_t second)
{
    if (map->count * 2 >= map->capacity)
        grow(map);
    struct pair_map_entry *entry = &map->entries[slot_of(map, first, second)];
    if (!entry->used) {
        *entry = (struct pair_map_entry){first, second, PAIR_MAP_NONE, 1};
        map->count++;
    }
    return &entry->value;
}

uint32_t pair_map_get(const struct pair_map *map, uint64_t first, uint64_t second)
{
    if (map->count == 0)
        return PAIR_MAP_NONE;
    const struct pair_map_entry *entry = &map->entries[slot_of(map, first, second)];
    return entry->used ? entry->value : PAIR_MAP_NONE;
}

void pair_map_free(struct pair_map *map)
{
    free(map->entries);
    *map = (struct pair_map){0};
}

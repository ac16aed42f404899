#include "common/map.h"

#include "common/memory.h"
#include <stdlib.h>
#include <string.h>

static struct map_slot *slot_of(const struct map *map, uint64_t key)
{
    size_t mask = map->slot_count - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15ull;
    size_t at = (hash ^ hash >> 29) * 0xd6e8feb86659fd93ull >> 20 & mask;

    while (map->slots[at].value != MAP_ABSENT && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

static void map_grow(struct map *map)
{
    struct map grown = {.slot_count = map->slot_count ? 2 * map->slot_count : 256};

    grown.slots = memory_allocate(grown.slot_count * sizeof *grown.slots);
    memset(grown.slots, 0xff, grown.slot_count * sizeof *grown.slots);
    grown.count = map->count;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].value != MAP_ABSENT)
            *slot_of(&grown, map->slots[i].key) = map->slots[i];
    map_free(map);
    *map = grown;
}

uint32_t *map_place(struct map *map, uint64_t key)
{
    if (2 * (map->count + 1) > map->slot_count)
        map_grow(map);
    struct map_slot *slot = slot_of(map, key);
    if (slot->value == MAP_ABSENT) {
        slot->key = key;
        map->count++;
    }
    return &slot->value;
}

uint32_t map_find(const struct map *map, uint64_t key)
{
    return map->slot_count ? slot_of(map, key)->value : MAP_ABSENT;
}

void map_free(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

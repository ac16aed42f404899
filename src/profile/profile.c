/*
 * profile.c: making, freeing and naming. The strings live in chunks that never move, so a pointer
 * from profile_string stays good while others are added.
 */
#include "profile/profile.h"

#include "common/memory.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CHUNK_BYTES (64 * 1024)

/* Open addressing over string ids; `slots` holds id + 1, 0 is free. Never more than half full. */
struct string_index {
    uint32_t *slots;
    size_t slot_count; /* a power of two */
    size_t indexed;    /* strings[0 ... indexed) are in the table */
    char **chunks;
    size_t chunk_count, chunk_capacity;
    char *free_bytes;
    size_t free_count;
};

static struct string_index *string_index_of(struct profile *profile)
{
    if (!profile->string_index)
        profile->string_index = memory_allocate_zeroed(1, sizeof *profile->string_index);
    return profile->string_index;
}

static char *store_text(struct string_index *index, const char *text, size_t length)
{
    if (length + 1 > index->free_count) {
        size_t wanted = length + 1 > CHUNK_BYTES ? length + 1 : CHUNK_BYTES;
        index->free_bytes = memory_allocate(wanted);
        index->free_count = wanted;
        *array_push(index->chunks, index->chunk_count, index->chunk_capacity) = index->free_bytes;
    }
    char *stored = index->free_bytes;
    memcpy(stored, text, length);
    stored[length] = 0;
    index->free_bytes += length + 1;
    index->free_count -= length + 1;
    return stored;
}

uint32_t profile_add_string(struct profile *profile, const char *text, size_t length)
{
    struct string_index *index = string_index_of(profile);

    assert(profile->string_count < NONE);
    *array_push(profile->strings, profile->string_count, profile->string_capacity) =
        store_text(index, text, length);
    return (uint32_t)(profile->string_count - 1);
}

/* The slot that holds `text`, or the free one where it belongs. */
static uint32_t *find_slot(const struct profile *profile, const char *text)
{
    const struct string_index *index = profile->string_index;
    size_t mask = index->slot_count - 1;
    size_t at = XXH3_64bits(text, strlen(text)) & mask;

    while (index->slots[at] && strcmp(profile->strings[index->slots[at] - 1], text))
        at = (at + 1) & mask;
    return &index->slots[at];
}

/* Brings the table up to date with strings that were added without it, growing it as needed. */
static void index_strings(struct profile *profile)
{
    struct string_index *index = string_index_of(profile);

    if (index->slot_count < 2 * (profile->string_count + 1)) {
        size_t wanted = index->slot_count ? index->slot_count : 256;
        while (wanted < 4 * (profile->string_count + 1))
            wanted *= 2;
        free(index->slots);
        index->slots = memory_allocate_zeroed(wanted, sizeof *index->slots);
        index->slot_count = wanted;
        index->indexed = 0;
    }
    for (; index->indexed < profile->string_count; index->indexed++) {
        uint32_t *slot = find_slot(profile, profile->strings[index->indexed]);
        if (!*slot)
            *slot = (uint32_t)index->indexed + 1;
    }
}

uint32_t profile_intern(struct profile *profile, const char *text)
{
    index_strings(profile);
    uint32_t *slot = find_slot(profile, text);
    if (*slot)
        return *slot - 1;
    uint32_t id = profile_add_string(profile, text, strlen(text));
    *slot = id + 1;
    profile->string_index->indexed = profile->string_count;
    return id;
}

const char *profile_string(const struct profile *profile, uint32_t id)
{
    assert(id < profile->string_count);
    return profile->strings[id];
}

struct profile *profile_new(void)
{
    struct profile *profile = memory_allocate_zeroed(1, sizeof *profile);

    profile_intern(profile, "");
    return profile;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    struct string_index *index = string_index_of(profile);
    for (size_t i = 0; i < index->chunk_count; i++)
        free(index->chunks[i]);
    free(index->chunks);
    free(index->slots);
    free(index);
    void *tables[] = {
        profile->strings,   profile->modules,
        profile->functions, profile->locations,
        profile->sites,     profile->location_frames,
        profile->contexts,  profile->blocks,
        profile->pieces,    profile->instruction_lengths,
        profile->counts,    profile->lines,
        profile->processes, profile->threads,
        profile->parts,     profile->roots,
        profile->repairs,
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        free(tables[i]);
    free(profile);
}

uint64_t profile_total_instructions(const struct profile *profile)
{
    uint64_t total = 0;

    for (size_t i = 0; i < profile->context_count; i++)
        total += profile->contexts[i].self_instructions;
    return total;
}

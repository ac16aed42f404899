#include "profile/merge.h"

#include "common/memory.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Where the rows of `from` went. */
struct merging {
    struct profile_merger *merger;
    struct profile *into;
    const struct profile *from;
    uint32_t *strings, *modules, *functions, *locations, *sites, *blocks, *parts;
};

static uint64_t hash_bytes(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}

static uint32_t moved(const uint32_t *numbers, uint32_t number)
{
    return number == NONE ? NONE : numbers[number];
}

static uint32_t *new_numbers(size_t count)
{
    return memory_allocate(count * sizeof(uint32_t));
}

static void merge_strings(struct merging *merging)
{
    merging->strings = new_numbers(merging->from->string_count);
    for (size_t i = 0; i < merging->from->string_count; i++)
        merging->strings[i] = profile_intern(merging->into, merging->from->strings[i]);
}

/* Rows are hashed field by field: the padding between fields may hold anything. */
static uint64_t module_hash(const struct module *row)
{
    uint32_t key[] = {row->path, row->build_id, row->kind};

    return hash_bytes(key, sizeof key);
}

static bool same_module(const struct module *a, const struct module *b)
{
    return a->path == b->path && a->build_id == b->build_id && a->kind == b->kind;
}

static uint64_t function_hash(const struct function *row)
{
    uint64_t key[] = {row->module, row->kind, row->only_inlined, row->name,
                      row->symbol, row->file, row->line,         row->start};

    return hash_bytes(key, sizeof key);
}

static bool same_function(const struct function *a, const struct function *b)
{
    return a->module == b->module && a->kind == b->kind && a->only_inlined == b->only_inlined &&
           a->name == b->name && a->symbol == b->symbol && a->file == b->file &&
           a->line == b->line && a->start == b->start;
}

static uint64_t site_hash(const struct site *row)
{
    uint64_t key[] = {row->module, row->location, row->next, row->address};

    return hash_bytes(key, sizeof key);
}

static bool same_site(const struct site *a, const struct site *b)
{
    return a->module == b->module && a->location == b->location && a->next == b->next &&
           a->address == b->address;
}

/* FIND(kind, map, row, rows, count, capacity): the number of `row` in a table of `into`, which has
 * it or gets it. Two rows of one hash that differ both stay; the map keeps the first. */
#define FIND(kind, map, row, rows, count, capacity)                                                \
    ({                                                                                             \
        uint32_t *place_ = map_place(&(map), kind##_hash(&(row)));                                 \
        uint32_t number_ = *place_;                                                                \
        if (number_ == MAP_ABSENT || !same_##kind(&(rows)[number_], &(row))) {                     \
            *array_push(rows, count, capacity) = (row);                                            \
            number_ = (uint32_t)(count)-1;                                                         \
            if (*place_ == MAP_ABSENT)                                                             \
                *place_ = number_;                                                                 \
        }                                                                                          \
        number_;                                                                                   \
    })

static void merge_modules(struct merging *merging)
{
    struct profile *into = merging->into;

    merging->modules = new_numbers(merging->from->module_count);
    for (size_t i = 0; i < merging->from->module_count; i++) {
        struct module row = merging->from->modules[i];
        row.path = merging->strings[row.path];
        row.build_id = merging->strings[row.build_id];
        row.note = merging->strings[row.note];
        merging->modules[i] = FIND(module, merging->merger->modules, row, into->modules,
                                   into->module_count, into->module_capacity);
    }
}

static void merge_functions(struct merging *merging)
{
    struct profile *into = merging->into;

    merging->functions = new_numbers(merging->from->function_count);
    for (size_t i = 0; i < merging->from->function_count; i++) {
        struct function row = merging->from->functions[i];
        row.module = merging->modules[row.module];
        row.name = merging->strings[row.name];
        row.symbol = merging->strings[row.symbol];
        row.file = merging->strings[row.file];
        merging->functions[i] = FIND(function, merging->merger->functions, row, into->functions,
                                     into->function_count, into->function_capacity);
    }
}

static bool same_frames(const struct profile *profile, uint32_t location,
                        const struct location_frame *frames, uint32_t count)
{
    const struct location *row = &profile->locations[location];

    return row->count == count && (count == 0 || !memcmp(&profile->location_frames[row->first],
                                                         frames, count * sizeof *frames));
}

/* The location of `into` with just these frames. struct location_frame has no padding. */
static uint32_t find_location(struct profile_merger *merger, const struct location_frame *frames,
                              uint32_t count)
{
    struct profile *into = merger->into;
    uint32_t *place =
        map_place(&merger->locations, hash_bytes(frames, count * sizeof *frames) + count);

    if (*place != MAP_ABSENT && same_frames(into, *place, frames, count))
        return *place;
    *array_push(into->locations, into->location_count, into->location_capacity) =
        (struct location){(uint32_t)into->location_frame_count, count};
    for (uint32_t i = 0; i < count; i++)
        *array_push(into->location_frames, into->location_frame_count,
                    into->location_frame_capacity) = frames[i];
    uint32_t number = (uint32_t)into->location_count - 1;
    if (*place == MAP_ABSENT)
        *place = number;
    return number;
}

static void merge_locations(struct merging *merging)
{
    const struct profile *from = merging->from;
    struct location_frame *frames = NULL;
    size_t capacity = 0;

    merging->locations = new_numbers(from->location_count);
    for (size_t i = 0; i < from->location_count; i++) {
        const struct location *row = &from->locations[i];
        frames = memory_grow(frames, &capacity, row->count, sizeof *frames);
        for (uint32_t f = 0; f < row->count; f++) {
            frames[f] = from->location_frames[row->first + f];
            frames[f].function = merging->functions[frames[f].function];
            frames[f].file = merging->strings[frames[f].file];
        }
        merging->locations[i] = find_location(merging->merger, frames, row->count);
    }
    free(frames);
}

static void merge_sites(struct merging *merging)
{
    struct profile *into = merging->into;

    merging->sites = new_numbers(merging->from->site_count);
    for (size_t i = 0; i < merging->from->site_count; i++) {
        struct site row = merging->from->sites[i];
        row.module = merging->modules[row.module];
        row.location = moved(merging->locations, row.location);
        row.next = moved(merging->sites, row.next); /* an earlier row */
        merging->sites[i] = FIND(site, merging->merger->sites, row, into->sites, into->site_count,
                                 into->site_capacity);
    }
}

static bool same_block(const struct merging *merging, uint32_t number, const struct block *block)
{
    const struct block *row = &merging->into->blocks[number];

    if (row->module != merging->modules[block->module] || row->address != block->address ||
        row->instructions != block->instructions || row->piece_count != block->piece_count)
        return false;
    for (uint32_t i = 0; i < block->piece_count; i++) {
        const struct piece *ours = &merging->into->pieces[row->first_piece + i];
        const struct piece *theirs = &merging->from->pieces[block->first_piece + i];
        if (ours->instructions != theirs->instructions ||
            ours->location != moved(merging->locations, theirs->location))
            return false;
    }
    return true;
}

static uint32_t add_block(struct merging *merging, const struct block *block)
{
    struct profile *into = merging->into;
    struct block row = *block;

    row.module = merging->modules[block->module];
    row.first_piece = (uint32_t)into->piece_count;
    row.first_length = (uint32_t)into->instruction_length_count;
    for (uint32_t i = 0; i < block->piece_count; i++) {
        struct piece piece = merging->from->pieces[block->first_piece + i];
        piece.location = moved(merging->locations, piece.location);
        *array_push(into->pieces, into->piece_count, into->piece_capacity) = piece;
    }
    for (uint32_t i = 0; i < block->instructions; i++)
        *array_push(into->instruction_lengths, into->instruction_length_count,
                    into->instruction_length_capacity) =
            merging->from->instruction_lengths[block->first_length + i];
    *array_push(into->blocks, into->block_count, into->block_capacity) = row;
    return (uint32_t)into->block_count - 1;
}

static void merge_blocks(struct merging *merging)
{
    merging->blocks = new_numbers(merging->from->block_count);
    for (size_t i = 0; i < merging->from->block_count; i++) {
        const struct block *block = &merging->from->blocks[i];
        uint64_t key[] = {merging->modules[block->module], block->address, block->instructions};
        uint32_t *place = map_place(&merging->merger->blocks, hash_bytes(key, sizeof key));
        uint32_t number = *place;
        if (number == MAP_ABSENT || !same_block(merging, number, block))
            number = add_block(merging, block);
        if (*place == MAP_ABSENT)
            *place = number;
        merging->blocks[i] = number;
    }
}

static void merge_parts(struct merging *merging)
{
    struct profile *into = merging->into;
    const struct profile *from = merging->from;

    merging->parts = new_numbers(from->part_count);
    for (size_t i = 0; i < from->part_count; i++) {
        struct part row = {merging->strings[from->parts[i].name],
                           merging->strings[from->parts[i].label]};
        size_t at = 0;
        while (at < into->part_count &&
               (into->parts[at].name != row.name || into->parts[at].label != row.label))
            at++;
        if (at == into->part_count)
            *array_push(into->parts, into->part_count, into->part_capacity) = row;
        merging->parts[i] = (uint32_t)at;
    }
}

static void merge_repairs(struct merging *merging)
{
    struct profile *into = merging->into;
    const struct profile *from = merging->from;

    for (size_t i = 0; i < from->repair_count; i++) {
        uint32_t kind = merging->strings[from->repairs[i].kind];
        size_t at = 0;
        while (at < into->repair_count && into->repairs[at].kind != kind)
            at++;
        if (at == into->repair_count)
            *array_push(into->repairs, into->repair_count, into->repair_capacity) =
                (struct repair){.kind = kind};
        into->repairs[at].count += from->repairs[i].count;
    }
}

/* Contexts keep their order behind those that are there, so parents still come first and the counts
 * stay sorted. */
static void merge_trees(struct merging *merging)
{
    struct profile *into = merging->into;
    const struct profile *from = merging->from;
    uint32_t first_process = (uint32_t)into->process_count;
    uint32_t first_thread = (uint32_t)into->thread_count;
    uint32_t first_context = (uint32_t)into->context_count;

    for (size_t i = 0; i < from->process_count; i++) {
        struct process row = from->processes[i];
        row.parent = row.parent == NONE ? NONE : row.parent + first_process;
        row.command = merging->strings[row.command];
        *array_push(into->processes, into->process_count, into->process_capacity) = row;
    }
    for (size_t i = 0; i < from->thread_count; i++) {
        struct thread row = from->threads[i];
        row.process += first_process;
        row.name = merging->strings[row.name];
        *array_push(into->threads, into->thread_count, into->thread_capacity) = row;
    }
    for (size_t i = 0; i < from->context_count; i++) {
        struct context row = from->contexts[i];
        row.parent = row.parent == NONE ? NONE : row.parent + first_context;
        row.function = merging->functions[row.function];
        row.site = moved(merging->sites, row.site);
        *array_push(into->contexts, into->context_count, into->context_capacity) = row;
    }
    for (size_t i = 0; i < from->root_count; i++) {
        struct root row = from->roots[i];
        row.context += first_context;
        row.thread += first_thread;
        row.part = merging->parts[row.part];
        *array_push(into->roots, into->root_count, into->root_capacity) = row;
    }
    for (size_t i = 0; i < from->count_count; i++) {
        struct block_count row = from->counts[i];
        row.context += first_context;
        row.block = merging->blocks[row.block];
        *array_push(into->counts, into->count_count, into->count_capacity) = row;
    }
    for (size_t i = 0; i < from->line_count; i++) {
        struct line_count row = from->lines[i];
        row.context += first_context;
        *array_push(into->lines, into->line_count, into->line_capacity) = row;
    }
}

static void drop_counts(struct profile *profile)
{
    profile->meta.detail = DETAIL_FUNCTION;
    profile->count_count = 0;
    profile->line_count = 0;
}

static uint32_t join_texts(struct profile *into, uint32_t text, const char *more)
{
    const char *before = profile_string(into, text);
    char *joined = memory_format("%s%s%s", before, *before && *more ? " " : "", more);
    uint32_t id = profile_intern(into, joined);

    free(joined);
    return id;
}

static void merge_meta(struct merging *merging, bool first)
{
    struct profile *into = merging->into;
    const struct profile *from = merging->from;
    struct meta *meta = &into->meta;

    if (first) {
        *meta = from->meta;
        meta->engine = merging->strings[meta->engine];
        meta->command = merging->strings[meta->command];
        meta->host = merging->strings[meta->host];
        meta->pids = merging->strings[meta->pids];
        return;
    }
    if (meta->engine != merging->strings[from->meta.engine])
        meta->engine = profile_intern(into, "several");
    if (meta->detail != from->meta.detail)
        drop_counts(into);
    meta->symbolized &= from->meta.symbolized;
    meta->folded_contexts += from->meta.folded_contexts;
    meta->unrecorded_instructions += from->meta.unrecorded_instructions;
    if (from->meta.ended_early > meta->ended_early)
        meta->ended_early = from->meta.ended_early;
    meta->pids = join_texts(into, meta->pids, profile_string(from, from->meta.pids));
}

static int check_room(const struct profile *into, const struct profile *from, const char *name,
                      struct error *error)
{
    uint64_t instructions, calls = 0;

    if (__builtin_add_overflow(profile_total_instructions(into), profile_total_instructions(from),
                               &instructions))
        return error_set(error, "%s: the sum of the counts exceeds 64 bits", name);
    for (size_t i = 0; i < into->context_count + from->context_count; i++) {
        uint64_t more = i < into->context_count ? into->contexts[i].calls
                                                : from->contexts[i - into->context_count].calls;
        if (__builtin_add_overflow(calls, more, &calls))
            return error_set(error, "%s: the sum of the calls exceeds 64 bits", name);
    }
    if (into->context_count + from->context_count >= NONE ||
        into->instruction_length_count + from->instruction_length_count >= NONE ||
        into->location_frame_count + from->location_frame_count >= NONE)
        return error_set(error, "%s: too many contexts for one profile", name);
    return OK;
}

/* Puts what is there already into the maps. */
void merger_start(struct profile_merger *merger, struct profile *into)
{
    *merger = (struct profile_merger){.into = into};
    for (uint32_t i = 0; i < into->module_count; i++)
        *map_place(&merger->modules, module_hash(&into->modules[i])) = i;
    for (uint32_t i = 0; i < into->function_count; i++)
        *map_place(&merger->functions, function_hash(&into->functions[i])) = i;
    for (uint32_t i = 0; i < into->location_count; i++) {
        const struct location *row = &into->locations[i];
        const struct location_frame *frames = &into->location_frames[row->first];
        *map_place(&merger->locations,
                   hash_bytes(frames, row->count * sizeof *frames) + row->count) = i;
    }
    for (uint32_t i = 0; i < into->site_count; i++)
        *map_place(&merger->sites, site_hash(&into->sites[i])) = i;
    for (uint32_t i = 0; i < into->block_count; i++) {
        const struct block *row = &into->blocks[i];
        uint64_t key[] = {row->module, row->address, row->instructions};
        *map_place(&merger->blocks, hash_bytes(key, sizeof key)) = i;
    }
}

int merger_add(struct profile_merger *merger, const struct profile *from, const char *name,
               struct error *error)
{
    struct merging merging = {.merger = merger, .into = merger->into, .from = from};
    bool first = merger->into->process_count == 0;

    if (check_room(merger->into, from, name, error))
        return ERROR;
    merge_strings(&merging);
    merge_modules(&merging);
    merge_functions(&merging);
    merge_locations(&merging);
    merge_sites(&merging);
    merge_blocks(&merging);
    merge_parts(&merging);
    merge_repairs(&merging);
    merge_trees(&merging);
    merge_meta(&merging, first);
    if (merger->into->meta.detail == DETAIL_FUNCTION)
        drop_counts(merger->into);
    uint32_t *numbers[] = {merging.strings, merging.modules, merging.functions, merging.locations,
                           merging.sites,   merging.blocks,  merging.parts};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        free(numbers[i]);
    return OK;
}

void merger_finish(struct profile_merger *merger)
{
    map_free(&merger->modules);
    map_free(&merger->functions);
    map_free(&merger->locations);
    map_free(&merger->sites);
    map_free(&merger->blocks);
    *merger = (struct profile_merger){0};
}

void profile_merge(struct profile *into, const struct profile *from)
{
    struct profile_merger merger;
    struct error ignored;

    merger_start(&merger, into);
    merger_add(&merger, from, "", &ignored);
    merger_finish(&merger);
}

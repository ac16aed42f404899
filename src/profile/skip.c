/*
 * skip.c: skipping in the profile itself (profile_skip).
 *
 * Every context has a place: for one that is shown, itself; for a skipped one, the nearest context
 * above it that is shown, and the location in that one's code from where the skipped code was
 * reached. What happens in a context at some location then happens at its place, with the inlined
 * functions of that location that are shown appended:
 *
 *     main -(in helper, inlined)-> lib (skipped) -(in fast, inlined)-> work
 *
 *     place of lib: main, at [main helper]
 *     work:         called from main, at [main helper fast]
 *     lib's cost:   main's, at [main helper], or [main helper fast] for what ran in fast
 *
 * Locations made this way are new rows; a cost is moved as a count of a one-instruction block at
 * the call instruction, so that lines and inlined frames stay exact and sums are kept. With no
 * context shown above, the place is the root, and the view calls its cost "(skipped)".
 * Linear in the tables, but for sorting the counts again.
 */
#include "common/map.h"
#include "common/memory.h"
#include "profile/order.h"
#include "profile/transform.h"
#include "profile/view_edit.h"

#include <stdlib.h>
#include <string.h>

struct place {
    uint32_t context;  /* new number */
    uint32_t location; /* NONE: not known, the function as a whole */
    uint32_t site;     /* the call instruction there; NONE: none */
};

struct skipper {
    struct profile *profile;
    uint8_t *skipped;     /* by function */
    struct place *places; /* by old context */
    struct context *contexts;
    size_t context_count, context_capacity;
    struct block_count *counts;
    size_t count_count, count_capacity;
    struct map composed;     /* (location, appended location) -> location */
    struct map plain;        /* function -> the location of it alone */
    struct map moved_sites;  /* (site, location) -> site */
    struct map moved_blocks; /* (site, location) -> block */
    struct map calls;        /* (site, function) -> number of the pair */
    struct map children;     /* (parent, pair) -> context */
};

static void mark_functions(struct skipper *skipper, const struct skip_rules *rules)
{
    struct view *view = view_new(skipper->profile); /* for the names as they are shown */

    skipper->skipped = memory_allocate(view->frame_count);
    for (size_t i = 0; i < view->frame_count; i++) {
        const struct view_frame *frame = &view->frames[i];
        skipper->skipped[i] =
            skip_rules_match(rules, frame->object, frame->name, frame->symbol, frame->kind);
    }
    view_free(view);
}

/* Drops skipped inlined functions from all locations. The first frame stands for the context's
 * function and stays. */
static void trim_locations(struct skipper *skipper)
{
    struct profile *profile = skipper->profile;

    for (size_t i = 0; i < profile->location_count; i++) {
        struct location *location = &profile->locations[i];
        struct location_frame *frames = &profile->location_frames[location->first];
        uint32_t kept = 0;
        for (uint32_t f = 0; f < location->count; f++)
            if (f == 0 || !skipper->skipped[frames[f].function])
                frames[kept++] = frames[f];
        location->count = kept;
    }
}

static uint32_t begin_location(struct profile *profile)
{
    *array_push(profile->locations, profile->location_count, profile->location_capacity) =
        (struct location){.first = (uint32_t)profile->location_frame_count};
    return (uint32_t)profile->location_count - 1;
}

static void append_frame(struct profile *profile, struct location_frame frame)
{
    *array_push(profile->location_frames, profile->location_frame_count,
                profile->location_frame_capacity) = frame;
    profile->locations[profile->location_count - 1].count++;
}

static uint32_t plain_location(struct skipper *skipper, uint32_t function)
{
    uint32_t *place = map_place(&skipper->plain, function);

    if (*place == MAP_ABSENT) {
        *place = begin_location(skipper->profile);
        append_frame(skipper->profile, (struct location_frame){.function = function});
    }
    return *place;
}

/* `location` with the inlined functions of `inner` below it. */
static uint32_t compose(struct skipper *skipper, uint32_t location, uint32_t inner)
{
    struct profile *profile = skipper->profile;
    uint32_t *place = map_place(&skipper->composed, map_pair(location, inner));

    if (*place == MAP_ABSENT) {
        struct location outer_row = profile->locations[location];
        struct location inner_row = profile->locations[inner];
        *place = begin_location(profile);
        for (uint32_t i = 0; i < outer_row.count; i++)
            append_frame(profile, profile->location_frames[outer_row.first + i]);
        for (uint32_t i = 1; i < inner_row.count; i++)
            append_frame(profile, profile->location_frames[inner_row.first + i]);
    }
    return *place;
}

/* What happens at `location` of a skipped context whose place this is happens there. */
static uint32_t location_at(struct skipper *skipper, const struct place *place, uint32_t location)
{
    if (location == NONE || skipper->profile->locations[location].count <= 1)
        return place->location;
    uint32_t outer = place->location;
    if (outer == NONE || skipper->profile->locations[outer].count == 0)
        outer = plain_location(skipper, skipper->contexts[place->context].function);
    return compose(skipper, outer, location);
}

/* The call instruction `site` as if it stood at `location`. */
static uint32_t site_at(struct skipper *skipper, uint32_t site, uint32_t location)
{
    struct profile *profile = skipper->profile;
    uint32_t *place = map_place(&skipper->moved_sites, map_pair(site, location));

    if (*place != MAP_ABSENT)
        return *place;
    struct site row = {.location = location, .next = NONE};
    if (site != NONE) {
        row = profile->sites[site];
        row.location = location;
    }
    *array_push(profile->sites, profile->site_count, profile->site_capacity) = row;
    *place = (uint32_t)profile->site_count - 1;
    return *place;
}

/* A block of one instruction at the call instruction, to count moved instructions with. */
static uint32_t block_at(struct skipper *skipper, uint32_t site, uint32_t location)
{
    struct profile *profile = skipper->profile;
    uint32_t *place = map_place(&skipper->moved_blocks, map_pair(site, location));

    if (*place != MAP_ABSENT)
        return *place;
    struct block block = {
        .instructions = 1,
        .first_piece = (uint32_t)profile->piece_count,
        .piece_count = 1,
        .first_length = (uint32_t)profile->instruction_length_count,
    };
    if (site != NONE) {
        block.module = profile->sites[site].module;
        block.address = profile->sites[site].address;
    }
    *array_push(profile->pieces, profile->piece_count, profile->piece_capacity) =
        (struct piece){location, 1};
    *array_push(profile->instruction_lengths, profile->instruction_length_count,
                profile->instruction_length_capacity) = 0;
    *array_push(profile->blocks, profile->block_count, profile->block_capacity) = block;
    *place = (uint32_t)profile->block_count - 1;
    return *place;
}

/* The new context (parent, site, function), found or added. Roots are always added. */
static uint32_t context_at(struct skipper *skipper, uint32_t parent, uint32_t site,
                           uint32_t function)
{
    uint32_t *pair = map_place(&skipper->calls, map_pair(site, function));
    if (*pair == MAP_ABSENT)
        *pair = (uint32_t)skipper->calls.count - 1;
    uint32_t *place = map_place(&skipper->children, map_pair(parent, *pair));

    if (*place == MAP_ABSENT || parent == NONE) {
        *array_push(skipper->contexts, skipper->context_count, skipper->context_capacity) =
            (struct context){.parent = parent, .site = site, .function = function};
        *place = (uint32_t)skipper->context_count - 1;
    }
    return *place;
}

static void place_skipped(struct skipper *skipper, const struct context *old, struct place *place)
{
    const struct place *above = &skipper->places[old->parent];
    uint32_t location = NONE;

    if (old->site != NONE)
        location = skipper->profile->sites[old->site].location;
    *place = *above;
    if (skipper->skipped[skipper->profile->contexts[old->parent].function]) {
        place->location = location_at(skipper, above, location);
    } else {
        place->location = location;
        place->site = old->site;
    }
}

static void place_shown(struct skipper *skipper, const struct context *old, struct place *place)
{
    uint32_t parent = NONE, site = old->site;

    if (old->parent != NONE) {
        const struct place *above = &skipper->places[old->parent];
        uint32_t location = site == NONE ? NONE : skipper->profile->sites[site].location;
        parent = above->context;
        if (skipper->skipped[skipper->profile->contexts[old->parent].function]) {
            uint32_t at = location_at(skipper, above, location);
            site = above->site == NONE && at == NONE ? NONE : site_at(skipper, above->site, at);
        }
    }
    uint32_t made = context_at(skipper, parent, site, old->function);
    skipper->contexts[made].calls += old->calls;
    *place = (struct place){made, NONE, NONE};
}

static void place_contexts(struct skipper *skipper)
{
    struct profile *profile = skipper->profile;

    skipper->places = memory_allocate(profile->context_count * sizeof *skipper->places);
    for (size_t i = 0; i < profile->context_count; i++) {
        const struct context *old = &profile->contexts[i];
        if (skipper->skipped[old->function])
            place_skipped(skipper, old, &skipper->places[i]);
        else
            place_shown(skipper, old, &skipper->places[i]);
        skipper->contexts[skipper->places[i].context].self_instructions += old->self_instructions;
    }
}

static void add_count(struct skipper *skipper, uint32_t context, uint32_t block, uint64_t count)
{
    *array_push(skipper->counts, skipper->count_count, skipper->count_capacity) =
        (struct block_count){context, block, count};
}

static void move_count(struct skipper *skipper, const struct block_count *old)
{
    struct profile *profile = skipper->profile;
    const struct place *place = &skipper->places[old->context];
    struct block block = profile->blocks[old->block];

    if (!skipper->skipped[profile->contexts[old->context].function]) {
        add_count(skipper, place->context, old->block, old->count);
        return;
    }
    if (!block.piece_count)
        add_count(skipper, place->context, block_at(skipper, place->site, place->location),
                  old->count * block.instructions);
    for (uint32_t i = 0; i < block.piece_count; i++) {
        struct piece piece = profile->pieces[block.first_piece + i];
        uint32_t location = location_at(skipper, place, piece.location);
        add_count(skipper, place->context, block_at(skipper, place->site, location),
                  old->count * piece.instructions);
    }
}

/* Sorted, with one row for each context and block. */
static void move_counts(struct skipper *skipper)
{
    struct profile *profile = skipper->profile;

    for (size_t i = 0; i < profile->count_count; i++)
        move_count(skipper, &profile->counts[i]);
    free(profile->counts);
    profile->counts = skipper->counts;
    profile->count_count =
        order_counts(skipper->counts, skipper->count_count, skipper->context_count);
    profile->count_capacity = skipper->count_capacity;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line_count *x = a, *y = b;

    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* By context: its Python function is skipped. */
static uint8_t *find_lost_lines(const struct skipper *skipper)
{
    const struct profile *profile = skipper->profile;
    uint8_t *lost = memory_allocate_zeroed(profile->context_count, 1);

    for (size_t i = 0; i < profile->context_count; i++) {
        const struct context *context = &profile->contexts[i];
        if (profile->functions[context->function].kind == FUNCTION_PYTHON)
            lost[i] = skipper->skipped[context->function];
        else
            lost[i] = context->parent != NONE && lost[context->parent];
    }
    return lost;
}

/* Lines of skipped Python functions are gone with them; those of others go where the cost goes. */
static void move_lines(struct skipper *skipper)
{
    struct profile *profile = skipper->profile;
    uint8_t *lost = find_lost_lines(skipper);
    size_t kept = 0;

    for (size_t i = 0; i < profile->line_count; i++) {
        struct line_count row = profile->lines[i];
        if (lost[row.context])
            continue;
        row.context = skipper->places[row.context].context;
        profile->lines[kept++] = row;
    }
    profile->line_count = kept;
    if (kept)
        qsort(profile->lines, kept, sizeof *profile->lines, compare_lines);
    free(lost);
}

static void skipper_free(struct skipper *skipper)
{
    free(skipper->skipped);
    free(skipper->places);
    map_free(&skipper->composed);
    map_free(&skipper->plain);
    map_free(&skipper->moved_sites);
    map_free(&skipper->moved_blocks);
    map_free(&skipper->calls);
    map_free(&skipper->children);
}

void profile_skip(struct profile *profile, const struct skip_rules *rules)
{
    struct skipper skipper = {.profile = profile};

    mark_functions(&skipper, rules);
    trim_locations(&skipper);
    place_contexts(&skipper);
    move_counts(&skipper);
    move_lines(&skipper);
    for (size_t i = 0; i < profile->root_count; i++)
        profile->roots[i].context = skipper.places[profile->roots[i].context].context;
    free(profile->contexts);
    profile->contexts = skipper.contexts;
    profile->context_count = skipper.context_count;
    profile->context_capacity = skipper.context_capacity;
    skipper_free(&skipper);
}

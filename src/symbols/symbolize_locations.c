/*
 * symbolize_locations.c: chains of inlined functions for call sites and for pieces of blocks.
 *
 * Addresses with the same function, inlined copy, file and line share one location, so a block
 * falls into as few pieces as its lines allow.
 */
#include "symbols/symbolize_work.h"
#include "common/memory.h"

#include <string.h>

/* Real chains have some dozens of frames; a damaged file may nest as deep as it is long. */
#define LONGEST_CHAIN 1024

static void add_frame(struct profile *profile, uint32_t function, uint32_t file, uint32_t line)
{
    *array_push(profile->location_frames, profile->location_frame_count,
                profile->location_frame_capacity) =
        (struct location_frame){.function = function, .file = file, .line = line};
}

/* Adds the frames of `node` and what it was inlined into. Where a function has no name, the chain
 * ends at the call of it. */
static void add_chain(struct work *work, uint32_t outermost, const struct debug_answer *answer)
{
    const struct debug_node *nodes = work->code.debug.nodes;
    uint32_t chain[LONGEST_CHAIN];
    size_t count = 0;

    for (uint32_t node = answer->node; node != DEBUG_NONE; node = nodes[node].parent) {
        if (count == LONGEST_CHAIN)
            memmove(chain, chain + 1, --count * sizeof *chain);
        chain[count++] = node;
    }
    uint32_t function = outermost;
    for (size_t i = count; i-- > 1;) {
        const struct debug_node *inner = &nodes[chain[i - 1]];
        add_frame(work->profile, function, symbolize_file_string(work, inner->call_file),
                  inner->call_line);
        function = symbolize_inlined_function(work, inner->function);
        if (function == NONE)
            return;
    }
    add_frame(work->profile, function, symbolize_file_string(work, answer->file), answer->line);
}

static uint32_t add_location(struct profile *profile, size_t first)
{
    *array_push(profile->locations, profile->location_count, profile->location_capacity) =
        (struct location){.first = (uint32_t)first,
                          .count = (uint32_t)(profile->location_frame_count - first)};
    return (uint32_t)(profile->location_count - 1);
}

static uint32_t location_at(struct work *work, uint64_t address)
{
    const struct debug_answer *answer = symbolize_answer_at(work, address);
    uint32_t function = NONE;

    if (answer && answer->unit != DEBUG_NONE)
        function = symbolize_function_with_code(work, address, answer);
    if (function == NONE) {
        if (work->empty_location == NONE)
            work->empty_location = add_location(work->profile, work->profile->location_frame_count);
        return work->empty_location;
    }
    uint32_t *known = pair_map_at(&work->location_of, (uint64_t)function << 32 | answer->node,
                                  (uint64_t)answer->file << 32 | answer->line);
    if (*known == PAIR_MAP_NONE) {
        size_t first = work->profile->location_frame_count;
        add_chain(work, function, answer);
        *known = add_location(work->profile, first);
    }
    return *known;
}

static void cut_block(struct work *work, struct block *block)
{
    struct profile *profile = work->profile;
    uint64_t address = block->address;

    block->first_piece = (uint32_t)profile->piece_count;
    for (uint32_t n = 0; n < block->instructions; n++) {
        uint32_t location = location_at(work, address);
        address += profile->instruction_lengths[block->first_length + n];
        struct piece *last = n ? &profile->pieces[profile->piece_count - 1] : NULL;
        if (last && last->location == location)
            last->instructions++;
        else
            *array_push(profile->pieces, profile->piece_count, profile->piece_capacity) =
                (struct piece){.location = location, .instructions = 1};
    }
    block->piece_count = (uint32_t)(profile->piece_count - block->first_piece);
}

void symbolize_locations(struct work *work)
{
    struct profile *profile = work->profile;

    for (size_t i = 0; i < profile->site_count; i++)
        if (profile->sites[i].module == work->module)
            profile->sites[i].location = location_at(work, profile->sites[i].address);
    for (size_t i = 0; i < profile->block_count; i++)
        if (profile->blocks[i].module == work->module)
            cut_block(work, &profile->blocks[i]);
}

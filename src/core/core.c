/*
 * core.c: the core as a whole: its beginning, parts and planes, blocks.
 */
#include "core/core.h"
#include "core/grow.h"
#include "core/platform.h"
#include "core/text.h"

#define FIRST_BUCKETS (1u << 14)
#define LENGTHS_BYTES 16384

void core_init(struct core *core, const struct core_options *options)
{
    *core = (struct core){.options = *options};
    code_map_init(&core->code);
    jit_init(&core->jit, core);
    core->code.jit = &core->jit;
    tree_init(&core->tree, options->max_contexts, options->line_detail);
    if (!options->keeps_children)
        tree_cache_make(&core->tree);
    if (options->line_detail)
        counts_init(&core->counts);
    core->root_function = code_map_marker(&core->code, "");
    core->block_buckets = platform_allocate(FIRST_BUCKETS * sizeof *core->block_buckets);
    core->block_bucket_mask = FIRST_BUCKETS - 1;
    core->block_capacity = 4096;
    core->blocks = platform_allocate(core->block_capacity * sizeof *core->blocks);
    core->block_count = 1; /* 0 ends the chains */
    core->recording = !options->start_off;
    core_zero(core);
}

/* ---- parts ---- */

/* The part that is open is always the last one. */
static struct part *part_open(struct core *core)
{
    return &core->parts[core->part_count - 1];
}

static void choose_plane(struct core *core)
{
    core->plane = core->recording ? core->part_count : 0;
}

static void part_new(struct core *core)
{
    GROW(core->parts, core->part_count, core->part_capacity, 16);
    core->parts[core->part_count++] = (struct part){0};
    choose_plane(core);
}

void core_start(struct core *core)
{
    core->recording = true;
    choose_plane(core);
}

void core_stop(struct core *core)
{
    core->recording = false;
    choose_plane(core);
}

void core_zero(struct core *core)
{
    const char *label = NULL;

    if (core->part_count) {
        label = part_open(core)->label;
        part_open(core)->dropped = true;
    }
    part_new(core);
    part_open(core)->label = label;
}

void core_dump(struct core *core, const char *name)
{
    char ordinal[21];
    uint64_t kept = 0;

    /* A dump that was given no name is known by its number among those that are written. */
    for (uint32_t i = 0; i < core->part_count; i++)
        kept += !core->parts[i].dropped;
    text_from_number(ordinal, kept);
    part_open(core)->name = text_keep(*name ? name : ordinal);
    part_new(core);
}

void core_label(struct core *core, const char *text)
{
    struct part *part = part_open(core);

    if (!part->label) {
        part->label = text_keep(text);
        return;
    }
    size_t old_length = text_length(part->label);
    size_t length = text_length(text);
    char *label = platform_allocate(old_length + length + 2);
    for (size_t i = 0; i < old_length; i++)
        label[i] = part->label[i];
    label[old_length] = '\n';
    for (size_t i = 0; i < length; i++)
        label[old_length + 1 + i] = text[i];
    part->label = label;
}

void core_skip_object(struct core *core, const char *pattern)
{
    GROW(core->skip_objects, core->skip_count, core->skip_capacity, 16);
    core->skip_objects[core->skip_count++] = text_keep(pattern);
}

void core_note(struct core *core, const char *name, const char *complaint)
{
    size_t name_length = text_length(name), length = text_length(complaint);
    char *note = platform_allocate(name_length + length + 2);

    __builtin_memcpy(note, name, name_length);
    note[name_length] = ' ';
    __builtin_memcpy(note + name_length + 1, complaint, length);
    for (uint32_t i = 0; i < core->note_count; i++)
        if (text_equal(core->notes[i], note))
            return;
    GROW(core->notes, core->note_count, core->note_capacity, 8);
    core->notes[core->note_count++] = note;
}

/* ---- blocks ---- */

static bool same_lengths(const uint8_t *a, const uint8_t *b, uint32_t count)
{
    return text_equal_n((const char *)a, (const char *)b, count);
}

/* By its shape too: in memory that code is made in anew, many blocks begin at one address. */
static uint32_t block_shape(uint64_t address, uint32_t instructions, const uint8_t *lengths)
{
    uint64_t shape = address + instructions;
    for (uint32_t i = 0; i < instructions; i++)
        shape = (shape ^ lengths[i]) * TREE_MIX;
    return shape * TREE_MIX >> 32;
}

static void bucket_add(struct core *core, uint32_t number)
{
    struct core_block *block = &core->blocks[number];
    uint32_t *bucket = &core->block_buckets[block->shape & core->block_bucket_mask];

    block->next = *bucket;
    *bucket = number;
}

/* The newest block of a bucket stays the first. */
static void buckets_grow(struct core *core)
{
    size_t count = (size_t)core->block_bucket_mask + 1;

    platform_release(core->block_buckets, count * sizeof *core->block_buckets);
    core->block_buckets = platform_allocate(2 * count * sizeof *core->block_buckets);
    core->block_bucket_mask = 2 * count - 1;
    for (uint32_t i = 1; i < core->block_count; i++)
        bucket_add(core, i);
}

/* Blocks have a handful of instructions: a piece of memory for each would be mostly empty. */
static const uint8_t *keep_lengths(struct core *core, const uint8_t *lengths, uint32_t count)
{
    if (count > core->lengths_left) {
        core->lengths_left = count > LENGTHS_BYTES ? count : LENGTHS_BYTES;
        core->lengths = platform_allocate(core->lengths_left);
    }
    uint8_t *kept = core->lengths;
    for (uint32_t i = 0; i < count; i++)
        kept[i] = lengths[i];
    core->lengths += count;
    core->lengths_left -= count;
    return kept;
}

uint32_t core_block(struct core *core, uint64_t address, struct code_module *module,
                    uint32_t instructions, const uint8_t *lengths)
{
    uint32_t shape = block_shape(address, instructions, lengths);
    uint64_t since = module->kind == CODE_ANONYMOUS ? jit_block_since(&core->jit, address) : 0;

    for (uint32_t i = core->block_buckets[shape & core->block_bucket_mask]; i;
         i = core->blocks[i].next) {
        const struct core_block *block = &core->blocks[i];
        if (block->shape == shape && block->address == address && block->module == module &&
            block->instructions == instructions && block->time >= since &&
            same_lengths(block->lengths, lengths, instructions))
            return i;
    }
    if (core->block_count == core->block_capacity) {
        struct core_block *blocks = platform_allocate(2 * core->block_capacity * sizeof *blocks);
        for (uint32_t i = 0; i < core->block_count; i++)
            blocks[i] = core->blocks[i];
        platform_release(core->blocks, core->block_capacity * sizeof *blocks);
        core->blocks = blocks;
        core->block_capacity *= 2;
    }
    core->blocks[core->block_count] = (struct core_block){
        .address = address,
        .module = module,
        .instructions = instructions,
        .shape = shape,
        .lengths = keep_lengths(core, lengths, instructions),
        .time = module->kind == CODE_ANONYMOUS ? platform_clock() : 0,
    };
    bucket_add(core, core->block_count);
    if (core->block_count++ > core->block_bucket_mask)
        buckets_grow(core);
    return core->block_count - 1;
}

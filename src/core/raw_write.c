#include "core/core.h"
#include "core/number.h"
#include "core/platform.h"
#include "core/raw.h"
#include "core/text.h"

#define BUFFER_BYTES 32768

struct writer {
    struct raw_sink *sink;
    uint8_t bytes[BUFFER_BYTES];
    size_t used;
};

static void flush(struct writer *writer)
{
    if (writer->used)
        writer->sink->write(writer->sink, writer->bytes, writer->used);
    writer->used = 0;
}

static void put(struct writer *writer, uint64_t word)
{
    if (writer->used + sizeof word > BUFFER_BYTES)
        flush(writer);
    __builtin_memcpy(writer->bytes + writer->used, &word, sizeof word);
    writer->used += sizeof word;
}

static void put_number(struct writer *writer, uint64_t number)
{
    if (writer->used + NUMBER_BYTES > BUFFER_BYTES)
        flush(writer);
    uint8_t *end = number_put(writer->bytes + writer->used, number);
    writer->used = (size_t)(end - writer->bytes);
}

/* Most are a few bytes: the names of functions, the lengths of a block's instructions. */
static void put_bytes(struct writer *writer, const void *bytes, uint64_t size_bytes)
{
    put(writer, size_bytes);
    if (size_bytes > BUFFER_BYTES - writer->used)
        flush(writer);
    if (size_bytes > BUFFER_BYTES) {
        writer->sink->write(writer->sink, bytes, size_bytes);
        return;
    }
    for (uint64_t i = 0; i < size_bytes; i++)
        writer->bytes[writer->used + i] = ((const uint8_t *)bytes)[i];
    writer->used += size_bytes;
}

static void put_text(struct writer *writer, const char *text)
{
    put_bytes(writer, text, text ? text_length(text) : 0);
}

/* ---- which rows are written ---- */

/* Rows of the raw file for contexts, functions, modules and blocks. Numbers that are not written
 * have CODE_NO_ID. Contexts of dropped planes and of plane 0 are not; and functions, modules,
 * sites and blocks only if a context needs them. */
struct rows {
    uint32_t first;    /* contexts before it are not written: a parent's */
    uint32_t *context; /* by number, from `first` on */
    uint32_t *site;    /* by number */
    uint32_t *block;   /* by number */
    uint32_t *part;    /* by place in core.parts */
    struct code_function **functions;
    struct code_module **modules;
    uint32_t context_count, site_count, block_count, part_count, function_count, module_count;
    uint32_t function_capacity, module_capacity;
    uint64_t run_count; /* of counts */
    uint64_t *self;     /* instructions, as `context` */
    uint32_t *counts;   /* rows of counts, as `context` */
    uint8_t *off;       /* as `context`: ran here, while recording was off or for nothing */
    uint64_t unrecorded;
};

static uint32_t context_row(const struct rows *rows, uint32_t number)
{
    return number < rows->first ? CODE_NO_ID : rows->context[number - rows->first];
}

static uint32_t *unwritten_rows(uint32_t count)
{
    uint32_t *rows = platform_allocate(((size_t)count + 1) * sizeof *rows);

    for (uint32_t i = 0; i < count; i++)
        rows[i] = CODE_NO_ID;
    return rows;
}

static void *grown(void *old, uint32_t *capacity)
{
    uint32_t wanted = *capacity ? 2 * *capacity : 256;
    void **items = platform_allocate(wanted * sizeof *items);

    for (uint32_t i = 0; i < *capacity; i++)
        items[i] = ((void **)old)[i];
    platform_release(old, *capacity * sizeof *items);
    *capacity = wanted;
    return items;
}

static void need_module(struct rows *rows, struct code_module *module)
{
    if (module->raw_id != CODE_NO_ID)
        return;
    if (rows->module_count == rows->module_capacity)
        rows->modules = grown(rows->modules, &rows->module_capacity);
    module->raw_id = rows->module_count;
    rows->modules[rows->module_count++] = module;
}

static void need_function(struct rows *rows, struct code_function *function)
{
    if (function->raw_id != CODE_NO_ID)
        return;
    need_module(rows, function->module);
    if (rows->function_count == rows->function_capacity)
        rows->functions = grown(rows->functions, &rows->function_capacity);
    function->raw_id = rows->function_count;
    rows->functions[rows->function_count++] = function;
}

/* As it is known in the end. */
static struct code_function *final_function(struct code_function *function)
{
    return function->named ? function->named : function;
}

static struct code_module *final_module(const struct core_block *block)
{
    return block->named ? block->named->module : block->module;
}

/* A context is written if its root is: decided once per root, handed down by order of creation.
 * 1: yes, 0: no. */
static void choose_contexts(struct core *core, struct rows *rows)
{
    const uint32_t count = core->tree.count - rows->first;

    rows->context = unwritten_rows(count);
    rows->off = platform_allocate((size_t)count + 1);
    rows->self = platform_allocate(((size_t)count + 1) * sizeof *rows->self);
    rows->counts = platform_allocate(((size_t)count + 1) * sizeof *rows->counts);
    for (uint32_t i = 0; i < core->root_count; i++) {
        const struct plane_root *root = &core->roots[i];
        if (root->plane == PLANE_INHERITED)
            continue;
        uint32_t at = context_number(root->context) - rows->first;
        if (root->plane && !core->parts[root->plane - 1].dropped)
            rows->context[at] = 0;
        else
            rows->off[at] = 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct context *context = tree_context(&core->tree, rows->first + i);
        if (context->parent && context_number(context->parent) >= rows->first) {
            uint32_t parent = context_number(context->parent) - rows->first;
            rows->context[i] = rows->context[parent];
            rows->off[i] = rows->off[parent];
        }
        if (rows->context[i] == CODE_NO_ID)
            continue;
        rows->context[i] = rows->context_count++;
        need_function(rows, final_function(context->function));
        if (!context->site || rows->site[context->site] != CODE_NO_ID)
            continue;
        need_module(rows, core->tree.sites[context->site].module);
        rows->site[context->site] = rows->site_count++;
    }
}

static void choose_pair_sites(struct core *core, struct rows *rows)
{
    const struct tree *tree = &core->tree;

    for (size_t i = 0; i < tree->site_pair_capacity; i++) {
        uint64_t pair = tree->site_pairs[i];
        uint32_t site = (uint32_t)pair;
        if (!pair || context_row(rows, pair >> 32) == CODE_NO_ID || rows->site[site] != CODE_NO_ID)
            continue;
        need_module(rows, tree->sites[site].module);
        rows->site[site] = rows->site_count++;
    }
}

static void put_pairs(struct writer *writer, const struct core *core, const struct rows *rows)
{
    const struct tree *tree = &core->tree;
    uint64_t count = 0;

    for (size_t i = 0; i < tree->site_pair_capacity; i++)
        count += tree->site_pairs[i] && context_row(rows, tree->site_pairs[i] >> 32) != CODE_NO_ID;
    put(writer, count);
    for (size_t i = 0; i < tree->site_pair_capacity; i++) {
        uint64_t pair = tree->site_pairs[i];
        uint32_t row = context_row(rows, pair >> 32);
        if (!pair || row == CODE_NO_ID)
            continue;
        put(writer, row);
        put(writer, rows->site[(uint32_t)pair]);
    }
}

/* What a line ran is among what its function ran. */
static void add_line(const struct core *core, struct rows *rows, uint32_t number,
                     uint64_t instructions)
{
    uint32_t parent = context_number(tree_context(&core->tree, number)->parent);

    rows->self[number - rows->first] += instructions;
    if (parent >= rows->first)
        rows->self[parent - rows->first] -= instructions;
}

/* Is the run one of those that are written? */
static bool is_chosen(const struct rows *rows, const struct count_run *run)
{
    return run->count && counts_key_block(run->key) &&
           context_row(rows, counts_key_context(run->key)) != CODE_NO_ID;
}

static void need_block(const struct core *core, struct rows *rows, uint32_t block)
{
    if (rows->block[block] != CODE_NO_ID)
        return;
    need_module(rows, final_module(&core->blocks[block]));
    rows->block[block] = 0; /* numbered below, in order */
}

static void choose_blocks(struct core *core, struct rows *rows)
{
    /* Blocks are large, and come in no order. */
    const size_t length_bytes = ((size_t)core->block_count + 1) * sizeof(uint32_t);
    uint32_t *lengths = platform_allocate(length_bytes);

    for (uint32_t i = 0; i < core->block_count; i++)
        lengths[i] = core->blocks[i].instructions;
    struct counts_walk walk = {0};
    for (const struct count_run *run; (run = counts_next(&core->counts, &walk));) {
        uint32_t block = counts_key_block(run->key), number = counts_key_context(run->key);
        if (!run->count || number < rows->first)
            continue;
        if (!block) {
            add_line(core, rows, number, run->count);
            continue;
        }
        uint64_t instructions = 0;
        for (uint32_t i = block; i < block + run->blocks; i++)
            instructions += lengths[i];
        instructions *= run->count;
        uint32_t context = number - rows->first;
        rows->self[context] += instructions;
        if (rows->off[context])
            rows->unrecorded += instructions;
        if (rows->context[context] == CODE_NO_ID)
            continue;
        rows->run_count++;
        rows->counts[context] += run->blocks;
        for (uint32_t i = block; i < block + run->blocks; i++)
            need_block(core, rows, i);
    }
    platform_release(lengths, length_bytes);
    for (uint32_t i = 0; i < core->block_count; i++)
        if (rows->block[i] != CODE_NO_ID)
            rows->block[i] = rows->block_count++;
}

static void choose_rows(struct core *core, struct rows *rows)
{
    rows->site = unwritten_rows(core->tree.site_count);
    rows->block = unwritten_rows(core->block_count);
    rows->part = unwritten_rows(core->part_count);
    rows->first = core->tree.inherited;
    for (uint32_t i = 0; i < core->part_count; i++)
        if (!core->parts[i].dropped)
            rows->part[i] = rows->part_count++;
    choose_contexts(core, rows);
    choose_pair_sites(core, rows);
    const uint32_t count = core->options.line_detail ? 0 : core->tree.count - rows->first;
    for (uint32_t i = 0; i < count; i++) {
        rows->self[i] = tree_context(&core->tree, rows->first + i)->self_instructions;
        if (rows->off[i])
            rows->unrecorded += rows->self[i];
    }
    if (core->options.line_detail) {
        counts_flush(&core->counts);
        choose_blocks(core, rows);
    }
}

static void release_rows(struct core *core, struct rows *rows)
{
    const size_t contexts = (size_t)core->tree.count - rows->first + 1;

    for (uint32_t i = 0; i < rows->function_count; i++)
        rows->functions[i]->raw_id = CODE_NO_ID;
    for (uint32_t i = 0; i < rows->module_count; i++)
        rows->modules[i]->raw_id = CODE_NO_ID;
    platform_release(rows->context, contexts * sizeof *rows->context);
    platform_release(rows->site, ((size_t)core->tree.site_count + 1) * sizeof *rows->site);
    platform_release(rows->block, ((size_t)core->block_count + 1) * sizeof *rows->block);
    platform_release(rows->part, ((size_t)core->part_count + 1) * sizeof *rows->part);
    platform_release(rows->off, contexts);
    platform_release(rows->self, contexts * sizeof *rows->self);
    platform_release(rows->counts, contexts * sizeof *rows->counts);
    platform_release(rows->functions, rows->function_capacity * sizeof *rows->functions);
    platform_release(rows->modules, rows->module_capacity * sizeof *rows->modules);
}

/* ---- sections ---- */

static void put_process(struct writer *writer, const struct core *core, const struct rows *rows,
                        const struct raw_process *process)
{
    put(writer, process->pid);
    put(writer, process->image);
    put(writer, process->parent_pid);
    put(writer, process->parent_image);
    put(writer, process->fork_ordinal);
    put(writer, process->started_by);
    put(writer, core->options.line_detail);
    put(writer, process->ending);
    put(writer, process->exit_status);
    put(writer, core->tree.folded);
    put(writer, rows->unrecorded);
    put_text(writer, process->engine);
    put_text(writer, process->command);
}

static void put_lines(struct writer *writer, const struct jit_lines *lines)
{
    put(writer, lines ? lines->count : 0);
    for (uint32_t i = 0; lines && i < lines->count; i++) {
        put(writer, lines->items[i].address);
        put(writer, lines->items[i].line);
        put_text(writer, lines->items[i].file);
    }
}

static void put_code(struct writer *writer, const struct core *core, const struct rows *rows)
{
    put(writer, rows->module_count);
    for (uint32_t i = 0; i < rows->module_count; i++) {
        put(writer, rows->modules[i]->kind);
        put_text(writer, rows->modules[i]->path);
        put_text(writer, rows->modules[i]->build_id);
    }
    put(writer, rows->function_count);
    for (uint32_t i = 0; i < rows->function_count; i++) {
        const struct code_function *function = rows->functions[i];
        put(writer, function->module->raw_id);
        put(writer, function->flags);
        put(writer, function->start);
        put(writer, function->end);
        put(writer, function->line);
        put_text(writer, function->name);
        put_text(writer, function->flags & CODE_FUNCTION_LINE ? NULL : function->file);
        put_lines(writer, function->jit ? function->jit->lines : NULL);
    }
    /* Sites were numbered as contexts needed them; written in that order. */
    uint32_t *order = platform_allocate(((size_t)rows->site_count + 1) * sizeof *order);
    for (uint32_t i = 0; i < core->tree.site_count; i++)
        if (rows->site[i] != CODE_NO_ID)
            order[rows->site[i]] = i;
    put(writer, rows->site_count);
    for (uint32_t i = 0; i < rows->site_count; i++) {
        const struct site *site = &core->tree.sites[order[i]];
        put(writer, site->module->raw_id);
        put(writer, site->address - site->module->bias);
    }
    platform_release(order, ((size_t)rows->site_count + 1) * sizeof *order);
}

static void put_roots(struct writer *writer, const struct core *core, const struct rows *rows)
{
    put(writer, rows->part_count);
    for (uint32_t i = 0; i < core->part_count; i++) {
        if (core->parts[i].dropped)
            continue;
        put_text(writer, core->parts[i].name);
        put_text(writer, core->parts[i].label);
    }
    put(writer, core->thread_count);
    for (uint32_t i = 1; i <= core->thread_count; i++)
        put(writer, i);
    uint32_t count = 0;
    for (uint32_t i = 0; i < core->root_count; i++)
        count += context_row(rows, context_number(core->roots[i].context)) != CODE_NO_ID;
    put(writer, count);
    for (uint32_t i = 0; i < core->root_count; i++) {
        const struct plane_root *root = &core->roots[i];
        uint32_t row = context_row(rows, context_number(root->context));
        if (row == CODE_NO_ID)
            continue;
        put(writer, row);
        put(writer, root->thread->number - 1);
        put(writer, rows->part[root->plane - 1]);
    }
}

static void put_contexts(struct writer *writer, const struct core *core, const struct rows *rows)
{
    put(writer, rows->context_count);
    for (uint32_t number = rows->first; number < core->tree.count; number++) {
        const struct context *context = tree_context(&core->tree, number);
        uint32_t row = context_row(rows, number);
        if (row == CODE_NO_ID)
            continue;
        const struct context *parent = context->parent;
        put_number(writer, parent ? row - context_row(rows, context_number(parent)) : 0);
        put_number(writer, final_function(context->function)->raw_id);
        put_number(writer, context->site ? rows->site[context->site] + 1 : 0);
        put_number(writer, context->calls);
        put_number(writer, rows->self[number - rows->first]);
        put_number(writer, rows->counts[number - rows->first]);
    }
}

static void put_blocks(struct writer *writer, const struct core *core, const struct rows *rows)
{
    put(writer, rows->block_count);
    for (uint32_t i = 0; i < core->block_count; i++) {
        const struct core_block *block = &core->blocks[i];
        if (rows->block[i] == CODE_NO_ID)
            continue;
        put(writer, final_module(block)->raw_id);
        put(writer, block->address - block->module->bias);
        put(writer, block->instructions);
        put_bytes(writer, block->lengths, block->instructions);
    }
}

static void put_told(struct writer *writer, const struct core *core)
{
    put(writer, REPAIR_KINDS);
    for (unsigned i = 0; i < REPAIR_KINDS; i++) {
        put_text(writer, repair_names[i]);
        put(writer, core->repairs[i]);
    }
    put(writer, core->skip_count);
    for (uint32_t i = 0; i < core->skip_count; i++)
        put_text(writer, core->skip_objects[i]);
    put(writer, core->note_count);
    for (uint32_t i = 0; i < core->note_count; i++)
        put_text(writer, core->notes[i]);
}

/* Blocks of a run are neighbours in the file, too: all of them are written. */
static void put_counts(struct writer *writer, const struct core *core, const struct rows *rows)
{
    uint32_t last_context = 0, last_block = 0;
    struct counts_walk walk = {0};

    put(writer, rows->run_count);
    for (const struct count_run *run; (run = counts_next(&core->counts, &walk));) {
        if (!is_chosen(rows, run))
            continue;
        uint32_t context = context_row(rows, counts_key_context(run->key));
        uint32_t block = rows->block[counts_key_block(run->key)];
        uint64_t step = number_from_signed((int64_t)block - last_block) << 2;
        put_number(writer, step | (run->blocks > 1) << 1 | (context != last_context));
        if (context != last_context)
            put_number(writer, number_from_signed((int64_t)context - last_context));
        put_number(writer, run->count);
        if (run->blocks > 1)
            put_number(writer, run->blocks - 1);
        last_context = context;
        last_block = block + run->blocks - 1;
    }
}

void raw_write(struct core *core, const struct raw_process *process, struct raw_sink *sink)
{
    struct writer *writer = platform_allocate(sizeof *writer);
    struct rows rows = {0};

    writer->sink = sink;
    jit_name_late(&core->jit);
    choose_rows(core, &rows);
    put(writer, RAW_MAGIC);
    put_process(writer, core, &rows, process);
    put_code(writer, core, &rows);
    put_roots(writer, core, &rows);
    put_contexts(writer, core, &rows);
    put_pairs(writer, core, &rows);
    put_blocks(writer, core, &rows);
    put_told(writer, core);
    put_counts(writer, core, &rows);
    put(writer, RAW_END);
    flush(writer);
    release_rows(core, &rows);
    platform_release(writer, sizeof *writer);
}

#include "profile/lines.h"

#include "common/map.h"
#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

uint8_t *profile_contexts_of_part(const struct profile *profile, const char *part)
{
    uint8_t *chosen = memory_allocate_zeroed(profile->context_count, 1);

    for (size_t i = 0; i < profile->root_count; i++) {
        const struct root *root = &profile->roots[i];
        chosen[root->context] =
            !part || !strcmp(part, profile_string(profile, profile->parts[root->part].name));
    }
    for (size_t i = 0; i < profile->context_count; i++)
        if (profile->contexts[i].parent != NONE)
            chosen[i] = chosen[profile->contexts[i].parent];
    return chosen;
}

static void add_line(struct source_lines *lines, struct map *index, uint32_t file, uint32_t line,
                     uint64_t instructions)
{
    uint32_t *place = map_place(index, map_pair(file, line));

    if (*place == MAP_ABSENT) {
        *array_push(lines->lines, lines->count, lines->capacity) =
            (struct source_line){.file = file, .line = line};
        *place = (uint32_t)lines->count - 1;
    }
    lines->lines[*place].instructions += instructions;
}

/* How often each block ran, over all chosen contexts: blocks are fewer than counts. */
static uint64_t *block_executions(const struct profile *profile, const uint8_t *chosen)
{
    uint64_t *executions = memory_allocate_zeroed(profile->block_count, sizeof *executions);

    for (size_t i = 0; i < profile->count_count; i++)
        if (!chosen || chosen[profile->counts[i].context])
            executions[profile->counts[i].block] += profile->counts[i].count;
    return executions;
}

/* The innermost frame of a piece; NULL: not known. */
static const struct location_frame *innermost(const struct profile *profile,
                                              const struct piece *piece)
{
    if (piece->location == NONE || !profile->locations[piece->location].count)
        return NULL;
    const struct location *location = &profile->locations[piece->location];
    return &profile->location_frames[location->first + location->count - 1];
}

static void add_blocks(struct source_lines *lines, struct map *index, const struct profile *profile,
                       const uint8_t *chosen)
{
    uint64_t *executions = block_executions(profile, chosen);

    for (size_t i = 0; i < profile->block_count; i++) {
        const struct block *block = &profile->blocks[i];
        for (uint32_t p = 0; p < block->piece_count && executions[i]; p++) {
            const struct piece *piece = &profile->pieces[block->first_piece + p];
            const struct location_frame *inner = innermost(profile, piece);
            if (inner && inner->file)
                add_line(lines, index, inner->file, inner->line,
                         executions[i] * piece->instructions);
        }
    }
    free(executions);
}

static int compare_lines(const void *a, const void *b, void *argument)
{
    const struct profile *profile = argument;
    const struct source_line *x = a, *y = b;

    if (x->file != y->file) {
        int order = strcmp(profile_string(profile, x->file), profile_string(profile, y->file));
        if (order)
            return order;
    }
    return (x->line > y->line) - (x->line < y->line);
}

void source_lines_collect(struct source_lines *lines, const struct profile *profile,
                          const char *part, enum python_mode mode)
{
    uint8_t *chosen = profile_contexts_of_part(profile, part);
    struct map index = {0};
    struct function_lines python;

    *lines = (struct source_lines){0};
    for (size_t i = 0; i < profile->context_count; i++)
        lines->total_instructions += chosen[i] ? profile->contexts[i].self_instructions : 0;
    add_blocks(lines, &index, profile, chosen);
    python_function_lines(&python, profile, mode, chosen);
    for (size_t i = 0; i < python.count; i++) {
        const struct source_line *row = &python.rows[i].line;
        add_line(lines, &index, row->file, row->line, row->instructions);
    }
    function_lines_free(&python);
    if (lines->count)
        qsort_r(lines->lines, lines->count, sizeof *lines->lines, compare_lines, (void *)profile);
    map_free(&index);
    free(chosen);
}

void source_lines_free(struct source_lines *lines)
{
    free(lines->lines);
    *lines = (struct source_lines){0};
}

static int compare_function_lines(const void *a, const void *b)
{
    const struct function_line *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->line.file != y->line.file)
        return x->line.file < y->line.file ? -1 : 1;
    return (x->line.line > y->line.line) - (x->line.line < y->line.line);
}

void function_lines_finish(struct function_lines *lines)
{
    size_t kept = 0;

    if (lines->count)
        qsort(lines->rows, lines->count, sizeof *lines->rows, compare_function_lines);
    for (size_t i = 0; i < lines->count; i++) {
        if (kept && compare_function_lines(&lines->rows[kept - 1], &lines->rows[i]) == 0)
            lines->rows[kept - 1].line.instructions += lines->rows[i].line.instructions;
        else
            lines->rows[kept++] = lines->rows[i];
    }
    lines->count = kept;
}

void function_lines_collect(struct function_lines *lines, const struct profile *profile)
{
    uint64_t *executions = block_executions(profile, NULL);

    *lines = (struct function_lines){0};
    for (size_t i = 0; i < profile->block_count; i++) {
        const struct block *block = &profile->blocks[i];
        for (uint32_t p = 0; p < block->piece_count && executions[i]; p++) {
            const struct piece *piece = &profile->pieces[block->first_piece + p];
            const struct location_frame *inner = innermost(profile, piece);
            if (inner)
                *array_push(lines->rows, lines->count, lines->capacity) = (struct function_line){
                    inner->function,
                    {inner->file, inner->line, executions[i] * piece->instructions},
                };
        }
    }
    function_lines_finish(lines);
    free(executions);
}

void function_lines_free(struct function_lines *lines)
{
    free(lines->rows);
    *lines = (struct function_lines){0};
}

/* Binary search for the first row at or after `function`. */
static size_t first_row(const struct function_lines *lines, uint64_t function)
{
    size_t low = 0, high = lines->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->rows[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void function_lines_range(const struct function_lines *lines, uint32_t function, size_t *first,
                          size_t *end)
{
    *first = first_row(lines, function);
    *end = first_row(lines, (uint64_t)function + 1);
}

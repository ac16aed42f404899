/*
 * check.c: every invariant that profile.h promises, so that nothing after the reader needs to
 * look twice at an index. One pass over each table; no allocation but one byte a context and one
 * sum a context at line detail.
 */
#include "common/memory.h"
#include "profile/tables.h"

#include <inttypes.h>
#include <stdlib.h>

static int check_column(const struct profile *profile, const struct table *table,
                        const struct column *column, const char *name, struct error *error)
{
    const char *row = table_rows(profile, table);
    size_t count = table_row_count(profile, table);
    bool optional = column->coding == CODING_OPTIONAL || column->coding == CODING_BACK;
    uint64_t limit = column->limit;

    if (column->refers == TABLE_STRINGS)
        limit = profile->string_count;
    else if (column->refers)
        limit = table_row_count(profile, &profile_tables[column->refers]);
    for (size_t i = 0; i < count; i++, row += table->row_bytes) {
        uint64_t value = column_load(column, row);
        if (optional && value == NONE)
            continue;
        if (value >= (column->coding == CODING_BACK ? i : limit))
            return error_set(error, "%s: damaged profile: %s row %zu: %s is out of range", name,
                             table->name, i, column->name);
    }
    return OK;
}

static int check_columns(const struct profile *profile, const char *name, struct error *error)
{
    for (size_t id = 0; id < TABLE_END; id++) {
        const struct table *table = &profile_tables[id];
        for (size_t c = 0; c < table->column_count; c++) {
            const struct column *column = &table->columns[c];
            if ((column->refers || column->limit) &&
                check_column(profile, table, column, name, error))
                return ERROR;
        }
    }
    return OK;
}

/* Ranges that a row names in another table; 64-bit sums of 32-bit numbers cannot overflow. */
static int check_ranges(const struct profile *profile, const char *name, struct error *error)
{
    for (size_t i = 0; i < profile->location_count; i++) {
        const struct location *location = &profile->locations[i];
        if ((uint64_t)location->first + location->count > profile->location_frame_count)
            return error_set(error, "%s: damaged profile: location %zu has frames out of range",
                             name, i);
    }
    for (size_t i = 0; i < profile->block_count; i++) {
        const struct block *block = &profile->blocks[i];
        if ((uint64_t)block->first_piece + block->piece_count > profile->piece_count)
            return error_set(error, "%s: damaged profile: block %zu has pieces out of range", name,
                             i);
        if ((uint64_t)block->first_length + block->instructions > profile->instruction_length_count)
            return error_set(error, "%s: damaged profile: block %zu has lengths out of range", name,
                             i);
        uint64_t sum = 0;
        for (uint32_t p = 0; p < block->piece_count; p++)
            sum += profile->pieces[block->first_piece + p].instructions;
        if (block->piece_count && sum != block->instructions)
            return error_set(error, "%s: damaged profile: the pieces of block %zu do not add up",
                             name, i);
    }
    return OK;
}

static int check_roots(const struct profile *profile, const char *name, struct error *error)
{
    uint8_t *has_row = memory_allocate_zeroed(profile->context_count, 1);
    int result = OK;

    for (size_t i = 0; i < profile->root_count && result == OK; i++) {
        uint32_t context = profile->roots[i].context;
        if (profile->contexts[context].parent != NONE)
            result = error_set(error, "%s: damaged profile: root %zu has a caller", name, i);
        else if (has_row[context])
            result = error_set(error, "%s: damaged profile: root %zu is listed twice", name, i);
        has_row[context] = 1;
    }
    for (size_t i = 0; i < profile->context_count && result == OK; i++) {
        const struct context *context = &profile->contexts[i];
        bool root = profile->functions[context->function].kind == FUNCTION_ROOT;
        if (root != (context->parent == NONE) || root != has_row[i])
            result =
                error_set(error, "%s: damaged profile: context %zu hangs under no root", name, i);
    }
    free(has_row);
    return result;
}

/* Totals fit in 64 bits, so that no sum taken later can wrap. */
static int check_totals(const struct profile *profile, const char *name, struct error *error)
{
    uint64_t instructions = 0, calls = 0;

    for (size_t i = 0; i < profile->context_count; i++) {
        const struct context *context = &profile->contexts[i];
        if (__builtin_add_overflow(instructions, context->self_instructions, &instructions) ||
            __builtin_add_overflow(calls, context->calls, &calls))
            return error_set(error, "%s: damaged profile: the counts exceed 64 bits", name);
    }
    return OK;
}

static int check_order(const struct profile *profile, const char *name, struct error *error)
{
    for (size_t i = 1; i < profile->count_count; i++)
        if (profile->counts[i].context < profile->counts[i - 1].context)
            return error_set(error, "%s: damaged profile: counts are not sorted at row %zu", name,
                             i);
    for (size_t i = 1; i < profile->line_count; i++)
        if (profile->lines[i].context < profile->lines[i - 1].context)
            return error_set(error, "%s: damaged profile: lines are not sorted at row %zu", name,
                             i);
    return OK;
}

/* At line detail the counts explain every instruction of every context. */
static int check_counts(const struct profile *profile, const char *name, struct error *error)
{
    size_t row = 0;

    if (profile->meta.detail != DETAIL_LINE)
        return OK;
    for (size_t i = 0; i < profile->context_count; i++) {
        uint64_t sum = 0, product;
        bool overflow = false;
        for (; row < profile->count_count && profile->counts[row].context == i; row++) {
            const struct block_count *count = &profile->counts[row];
            overflow |= __builtin_mul_overflow(
                count->count, profile->blocks[count->block].instructions, &product);
            overflow |= __builtin_add_overflow(sum, product, &sum);
        }
        if (overflow || sum != profile->contexts[i].self_instructions)
            return error_set(error, "%s: damaged profile: the counts of context %zu do not add up",
                             name, i);
    }
    return OK;
}

/* Lines explain a part of a context, or all of it. */
static int check_lines(const struct profile *profile, const char *name, struct error *error)
{
    size_t row = 0;

    if (profile->meta.detail != DETAIL_LINE)
        return OK;
    for (size_t i = 0; i < profile->context_count; i++) {
        uint64_t left = profile->contexts[i].self_instructions;
        for (; row < profile->line_count && profile->lines[row].context == i; row++)
            if (__builtin_sub_overflow(left, profile->lines[row].instructions, &left))
                return error_set(
                    error, "%s: damaged profile: the lines of context %zu do not add up", name, i);
    }
    return OK;
}

int profile_check(const struct profile *profile, const char *name, struct error *error)
{
    static int (*const checks[])(const struct profile *, const char *, struct error *) = {
        check_columns, check_ranges, check_roots, check_totals,
        check_order,   check_counts, check_lines,
    };

    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i](profile, name, error))
            return ERROR;
    return OK;
}

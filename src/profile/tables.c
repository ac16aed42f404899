#include "profile/tables.h"

#include "common/memory.h"
#include <string.h>

#define FIELD(type, field, coding, refers)                                                         \
    {                                                                                              \
#field, offsetof(type, field), sizeof(((type *)0)->field), coding, refers                  \
    }
#define CHOICE(type, field, last)                                                                  \
    {                                                                                              \
#field, offsetof(type, field), sizeof(((type *)0)->field), CODING_PLAIN, 0, (last) + 1     \
    }
#define ROWS(items, count, capacity)                                                               \
    .rows_offset = offsetof(struct profile, items),                                                \
    .count_offset = offsetof(struct profile, count),                                               \
    .capacity_offset = offsetof(struct profile, capacity)
#define COLUMNS(list) .columns = list, .column_count = sizeof(list) / sizeof *(list)

static const struct column meta_columns[] = {
    FIELD(struct meta, engine, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct meta, command, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct meta, exit_status, CODING_SIGNED, 0),
    CHOICE(struct meta, detail, DETAIL_LINE),
    CHOICE(struct meta, symbolized, true),
    CHOICE(struct meta, ended_early, ENDING_KILLED),
    FIELD(struct meta, folded_contexts, CODING_PLAIN, 0),
    FIELD(struct meta, unrecorded_instructions, CODING_PLAIN, 0),
};

static const struct column module_columns[] = {
    FIELD(struct module, path, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct module, build_id, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct module, note, CODING_PLAIN, TABLE_STRINGS),
    CHOICE(struct module, kind, MODULE_JIT),
    CHOICE(struct module, symbols, SYMBOLS_DEBUG),
};

static const struct column function_columns[] = {
    FIELD(struct function, module, CODING_PLAIN, TABLE_MODULES),
    CHOICE(struct function, kind, FUNCTION_MARKER),
    CHOICE(struct function, only_inlined, true),
    FIELD(struct function, name, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct function, symbol, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct function, file, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct function, line, CODING_PLAIN, 0),
    FIELD(struct function, start, CODING_DELTA, 0),
    FIELD(struct function, size, CODING_PLAIN, 0),
};

static const struct column location_columns[] = {
    FIELD(struct location, first, CODING_DELTA, 0),
    FIELD(struct location, count, CODING_PLAIN, 0),
};

static const struct column location_frame_columns[] = {
    FIELD(struct location_frame, function, CODING_PLAIN, TABLE_FUNCTIONS),
    FIELD(struct location_frame, file, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct location_frame, line, CODING_PLAIN, 0),
};

static const struct column site_columns[] = {
    FIELD(struct site, module, CODING_PLAIN, TABLE_MODULES),
    FIELD(struct site, location, CODING_OPTIONAL, TABLE_LOCATIONS),
    FIELD(struct site, next, CODING_BACK, TABLE_SITES),
    FIELD(struct site, address, CODING_DELTA, 0),
};

static const struct column context_columns[] = {
    FIELD(struct context, parent, CODING_BACK, TABLE_CONTEXTS),
    FIELD(struct context, function, CODING_PLAIN, TABLE_FUNCTIONS),
    FIELD(struct context, site, CODING_OPTIONAL, TABLE_SITES),
    FIELD(struct context, calls, CODING_PLAIN, 0),
    FIELD(struct context, self_instructions, CODING_PLAIN, 0),
};

static const struct column block_columns[] = {
    FIELD(struct block, module, CODING_PLAIN, TABLE_MODULES),
    FIELD(struct block, instructions, CODING_PLAIN, 0),
    FIELD(struct block, first_piece, CODING_DELTA, 0),
    FIELD(struct block, piece_count, CODING_PLAIN, 0),
    FIELD(struct block, first_length, CODING_DELTA, 0),
    FIELD(struct block, address, CODING_DELTA, 0),
};

static const struct column instruction_length_columns[] = {
    {"length", 0, 1, CODING_PLAIN, 0},
};

static const struct column piece_columns[] = {
    FIELD(struct piece, location, CODING_OPTIONAL, TABLE_LOCATIONS),
    FIELD(struct piece, instructions, CODING_PLAIN, 0),
};

static const struct column count_columns[] = {
    FIELD(struct block_count, context, CODING_DELTA, TABLE_CONTEXTS),
    FIELD(struct block_count, block, CODING_PLAIN, TABLE_BLOCKS),
    FIELD(struct block_count, count, CODING_PLAIN, 0),
};

static const struct column line_columns[] = {
    FIELD(struct line_count, context, CODING_DELTA, TABLE_CONTEXTS),
    FIELD(struct line_count, line, CODING_PLAIN, 0),
    FIELD(struct line_count, instructions, CODING_PLAIN, 0),
};

static const struct column process_columns[] = {
    FIELD(struct process, parent, CODING_BACK, TABLE_PROCESSES),
    FIELD(struct process, command, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct process, exit_status, CODING_SIGNED, 0),
    CHOICE(struct process, started_by, PROCESS_EXEC),
};

static const struct column thread_columns[] = {
    FIELD(struct thread, process, CODING_PLAIN, TABLE_PROCESSES),
    FIELD(struct thread, ordinal, CODING_PLAIN, 0),
    FIELD(struct thread, name, CODING_PLAIN, TABLE_STRINGS),
};

static const struct column part_columns[] = {
    FIELD(struct part, name, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct part, label, CODING_PLAIN, TABLE_STRINGS),
};

static const struct column root_columns[] = {
    FIELD(struct root, context, CODING_PLAIN, TABLE_CONTEXTS),
    FIELD(struct root, thread, CODING_PLAIN, TABLE_THREADS),
    FIELD(struct root, part, CODING_PLAIN, TABLE_PARTS),
};

static const struct column repair_columns[] = {
    FIELD(struct repair, kind, CODING_PLAIN, TABLE_STRINGS),
    FIELD(struct repair, count, CODING_PLAIN, 0),
};

const struct table profile_tables[TABLE_END] = {
    [TABLE_META] = {"meta", sizeof(struct meta), .rows_offset = offsetof(struct profile, meta),
                    .single = true, COLUMNS(meta_columns)},
    [TABLE_MODULES] = {"modules", sizeof(struct module),
                       ROWS(modules, module_count, module_capacity), COLUMNS(module_columns)},
    [TABLE_FUNCTIONS] = {"functions", sizeof(struct function),
                         ROWS(functions, function_count, function_capacity),
                         COLUMNS(function_columns)},
    [TABLE_LOCATIONS] = {"locations", sizeof(struct location),
                         ROWS(locations, location_count, location_capacity),
                         COLUMNS(location_columns)},
    [TABLE_LOCATION_FRAMES] = {"location frames", sizeof(struct location_frame),
                               ROWS(location_frames, location_frame_count, location_frame_capacity),
                               COLUMNS(location_frame_columns)},
    [TABLE_SITES] = {"sites", sizeof(struct site), ROWS(sites, site_count, site_capacity),
                     COLUMNS(site_columns)},
    [TABLE_CONTEXTS] = {"contexts", sizeof(struct context),
                        ROWS(contexts, context_count, context_capacity), COLUMNS(context_columns)},
    [TABLE_BLOCKS] = {"blocks", sizeof(struct block), ROWS(blocks, block_count, block_capacity),
                      COLUMNS(block_columns)},
    [TABLE_INSTRUCTION_LENGTHS] = {"instruction lengths", 1,
                                   ROWS(instruction_lengths, instruction_length_count,
                                        instruction_length_capacity),
                                   COLUMNS(instruction_length_columns)},
    [TABLE_PIECES] = {"pieces", sizeof(struct piece), ROWS(pieces, piece_count, piece_capacity),
                      COLUMNS(piece_columns)},
    [TABLE_COUNTS] = {"counts", sizeof(struct block_count),
                      ROWS(counts, count_count, count_capacity), COLUMNS(count_columns)},
    [TABLE_LINES] = {"lines", sizeof(struct line_count), ROWS(lines, line_count, line_capacity),
                     COLUMNS(line_columns)},
    [TABLE_PROCESSES] = {"processes", sizeof(struct process),
                         ROWS(processes, process_count, process_capacity),
                         COLUMNS(process_columns)},
    [TABLE_THREADS] = {"threads", sizeof(struct thread),
                       ROWS(threads, thread_count, thread_capacity), COLUMNS(thread_columns)},
    [TABLE_PARTS] = {"parts", sizeof(struct part), ROWS(parts, part_count, part_capacity),
                     COLUMNS(part_columns)},
    [TABLE_ROOTS] = {"roots", sizeof(struct root), ROWS(roots, root_count, root_capacity),
                     COLUMNS(root_columns)},
    [TABLE_REPAIRS] = {"repairs", sizeof(struct repair),
                       ROWS(repairs, repair_count, repair_capacity), COLUMNS(repair_columns)},
};

void *table_rows(const struct profile *profile, const struct table *table)
{
    char *field = (char *)profile + table->rows_offset;
    void *rows;

    if (table->single)
        return field;
    memcpy(&rows, field, sizeof rows); /* the field is a pointer of the row's own type */
    return rows;
}

size_t table_row_count(const struct profile *profile, const struct table *table)
{
    size_t count;

    if (table->single)
        return 1;
    memcpy(&count, (const char *)profile + table->count_offset, sizeof count);
    return count;
}

void *table_allocate(struct profile *profile, const struct table *table, size_t count)
{
    if (table->single)
        return table_rows(profile, table);
    void *rows = memory_allocate_zeroed(count, table->row_bytes);
    memcpy((char *)profile + table->rows_offset, &rows, sizeof rows);
    memcpy((char *)profile + table->count_offset, &count, sizeof count);
    memcpy((char *)profile + table->capacity_offset, &count, sizeof count);
    return rows;
}

void column_load_rows(const struct column *column, const void *rows, size_t row_bytes, size_t count,
                      uint64_t *values)
{
    const char *field = (const char *)rows + column->offset;
    uint32_t middle;

    switch (column->size_bytes) {
    case 1:
        for (size_t i = 0; i < count; i++, field += row_bytes)
            values[i] = *(const uint8_t *)field;
        break;
    case 4:
        for (size_t i = 0; i < count; i++, field += row_bytes) {
            memcpy(&middle, field, sizeof middle);
            values[i] =
                column->coding == CODING_SIGNED ? (uint64_t)(int64_t)(int32_t)middle : middle;
        }
        break;
    default:
        for (size_t i = 0; i < count; i++, field += row_bytes)
            memcpy(&values[i], field, sizeof values[i]);
    }
}

uint64_t column_load(const struct column *column, const void *row)
{
    uint64_t value;

    column_load_rows(column, row, 0, 1, &value);
    return value;
}

void column_store(const struct column *column, void *row, uint64_t value)
{
    char *field = (char *)row + column->offset;
    uint8_t narrow = (uint8_t)value;
    uint32_t middle = (uint32_t)value;

    switch (column->size_bytes) {
    case 1:
        memcpy(field, &narrow, sizeof narrow);
        break;
    case 4:
        memcpy(field, &middle, sizeof middle);
        break;
    default:
        memcpy(field, &value, sizeof value);
    }
}

/*
 * flame_write.c: a profile becomes a .flame file.
 *
 * Each table is written column by column as varints, which is what lets zstd find the pattern in
 * every column; a section is built in memory, compressed and written before the next one is begun,
 * so the cost is one table's worth of memory. Strings that nothing but the run section refers to
 * (host, pids) are left out of the string table: with them in it, the same run on another machine
 * would not give the same bytes.
 */
#include "common/memory.h"
#include "common/output.h"
#include "core/number.h"
#include "profile/flame.h"
#include "profile/tables.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define COMPRESSION_LEVEL 3

struct buffer {
    uint8_t *bytes;
    size_t count, capacity;
};

#define ROWS_AT_ONCE 4096

static uint8_t *buffer_reserve(struct buffer *buffer, size_t more)
{
    buffer->bytes = memory_grow(buffer->bytes, &buffer->capacity, buffer->count + more, 1);
    return buffer->bytes + buffer->count;
}

static void put_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
    memcpy(buffer_reserve(buffer, count), bytes, count);
    buffer->count += count;
}

static void put_varint(struct buffer *buffer, uint64_t value)
{
    uint8_t *start = buffer_reserve(buffer, NUMBER_BYTES);

    buffer->count += (size_t)(number_put(start, value) - start);
}

static void put_fixed(uint8_t *at, uint64_t value, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void put_text(struct buffer *buffer, const char *text)
{
    put_varint(buffer, strlen(text));
    put_bytes(buffer, text, strlen(text));
}

/* The column's values of `count` rows from `row` on, as they are written; `before` is the value of the
 * row before those, and then of the last. */
static void encode(enum coding coding, uint64_t *values, size_t count, size_t row, uint64_t *before)
{
    uint64_t last = *before;

    *before = values[count - 1];
    switch (coding) {
    case CODING_OPTIONAL:
        for (size_t i = 0; i < count; i++)
            values[i] = values[i] == NONE ? 0 : values[i] + 1;
        break;
    case CODING_BACK:
        for (size_t i = 0; i < count; i++)
            values[i] = values[i] == NONE ? 0 : row + i - values[i];
        break;
    case CODING_DELTA:
        for (size_t i = 0; i < count; i++) {
            uint64_t step = values[i] - last;
            last = values[i];
            values[i] = number_from_signed((int64_t)step);
        }
        break;
    case CODING_SIGNED:
        for (size_t i = 0; i < count; i++)
            values[i] = number_from_signed((int64_t)values[i]);
        break;
    default:
        break;
    }
}

static void put_column(struct buffer *buffer, const struct table *table,
                       const struct column *column, const char *row, size_t count,
                       const uint32_t *string_ids)
{
    uint64_t before = 0, values[ROWS_AT_ONCE];

    for (size_t first = 0; first < count;
         first += ROWS_AT_ONCE, row += ROWS_AT_ONCE * table->row_bytes) {
        size_t some = count - first < ROWS_AT_ONCE ? count - first : ROWS_AT_ONCE;
        uint8_t *start = buffer_reserve(buffer, some * NUMBER_BYTES), *at = start;
        column_load_rows(column, row, table->row_bytes, some, values);
        for (size_t i = 0; column->refers == TABLE_STRINGS && i < some; i++)
            values[i] = string_ids[values[i]];
        encode(column->coding, values, some, first, &before);
        for (size_t i = 0; i < some; i++)
            at = number_put(at, values[i]);
        buffer->count += (size_t)(at - start);
    }
}

static void put_table(struct buffer *buffer, const struct profile *profile,
                      const struct table *table, const uint32_t *string_ids)
{
    size_t count = table_row_count(profile, table);

    put_varint(buffer, count);
    for (size_t c = 0; c < table->column_count; c++)
        put_column(buffer, table, &table->columns[c], table_rows(profile, table), count,
                   string_ids);
}

static void put_run(struct buffer *buffer, const struct profile *profile)
{
    put_varint(buffer, profile->meta.date_seconds);
    put_text(buffer, profile_string(profile, profile->meta.host));
    put_text(buffer, profile_string(profile, profile->meta.pids));
}

/* New ids for the strings that tables refer to, in the order of the old ones; NONE for others. */
static uint32_t *number_strings(const struct profile *profile)
{
    uint32_t *ids = memory_allocate_zeroed(profile->string_count, sizeof *ids);

    ids[0] = 1;
    for (size_t id = 0; id < TABLE_END; id++) {
        const struct table *table = &profile_tables[id];
        for (size_t c = 0; c < table->column_count; c++) {
            if (table->columns[c].refers != TABLE_STRINGS)
                continue;
            const char *row = table_rows(profile, table);
            size_t count = table_row_count(profile, table);
            for (size_t i = 0; i < count; i++, row += table->row_bytes)
                ids[column_load(&table->columns[c], row)] = 1;
        }
    }
    uint32_t next = 0;
    for (size_t i = 0; i < profile->string_count; i++)
        ids[i] = ids[i] ? next++ : NONE;
    return ids;
}

static void put_strings(struct buffer *buffer, const struct profile *profile,
                        const uint32_t *string_ids)
{
    size_t used = 0;

    for (size_t i = 0; i < profile->string_count; i++)
        used += string_ids[i] != NONE;
    put_varint(buffer, used);
    for (size_t i = 0; i < profile->string_count; i++)
        if (string_ids[i] != NONE)
            put_varint(buffer, strlen(profile->strings[i]));
    for (size_t i = 0; i < profile->string_count; i++)
        if (string_ids[i] != NONE)
            put_bytes(buffer, profile->strings[i], strlen(profile->strings[i]));
}

static void write_section(FILE *stream, uint32_t id, const struct buffer *plain,
                          struct buffer *packed)
{
    uint8_t header[FLAME_SECTION_BYTES];
    const struct buffer *stored = plain;
    uint32_t method = FLAME_STORED;

    packed->count = 0;
    uint8_t *target = buffer_reserve(packed, ZSTD_compressBound(plain->count));
    size_t packed_bytes =
        ZSTD_compress(target, packed->capacity, plain->bytes, plain->count, COMPRESSION_LEVEL);
    if (!ZSTD_isError(packed_bytes) && packed_bytes < plain->count) {
        packed->count = packed_bytes;
        stored = packed;
        method = FLAME_ZSTD;
    }
    put_fixed(header, id, 4);
    put_fixed(header + 4, method, 4);
    put_fixed(header + 8, stored->count, 8);
    put_fixed(header + 16, plain->count, 8);
    XXH64_state_t *state = XXH64_createState();
    XXH64_reset(state, 0);
    XXH64_update(state, header, FLAME_SECTION_CHECKED);
    XXH64_update(state, stored->bytes, stored->count);
    put_fixed(header + 24, XXH64_digest(state), 8);
    XXH64_freeState(state);
    fwrite(header, 1, sizeof header, stream);
    fwrite(stored->bytes, 1, stored->count, stream);
}

static void write_profile(const struct profile *profile, FILE *stream)
{
    struct buffer plain = {0}, packed = {0};
    uint32_t *string_ids = number_strings(profile);
    uint8_t opening[8];

    fwrite(FLAME_MAGIC, 1, FLAME_MAGIC_BYTES, stream);
    put_fixed(opening, FLAME_VERSION, 4);
    put_fixed(opening + 4, TABLE_END - 1, 4);
    fwrite(opening, 1, sizeof opening, stream);
    for (uint32_t id = 1; id < TABLE_END; id++) {
        plain.count = 0;
        if (id == TABLE_RUN)
            put_run(&plain, profile);
        else if (id == TABLE_STRINGS)
            put_strings(&plain, profile, string_ids);
        else
            put_table(&plain, profile, &profile_tables[id], string_ids);
        write_section(stream, id, &plain, &packed);
    }
    free(plain.bytes);
    free(packed.bytes);
    free(string_ids);
}

int flame_write(const struct profile *profile, const char *path, struct error *error)
{
    struct output output;

    if (output_open(&output, path, error))
        return ERROR;
    write_profile(profile, output.stream);
    return output_commit(&output, error);
}

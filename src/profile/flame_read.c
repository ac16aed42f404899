/*
 * flame_read.c: a .flame file becomes a profile, or one sentence why not.
 *
 * The file may come from anywhere. Nothing is believed: checksums are compared before anything is
 * unpacked, every length is compared with the bytes that are there before memory is asked for, a
 * table's memory is bounded by the size of its section, and profile_check looks at every index
 * before the caller sees the profile.
 */
#include "common/file.h"
#include "common/memory.h"
#include "core/number.h"
#include "profile/flame.h"
#include "profile/tables.h"
#include "profile/varint.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* zstd packs at most 128 KiB in four bytes; a section that claims more is lying. */
#define LARGEST_RATIO 32768
#define SLACK_BYTES   4096

/* Bytes being read; `failed` is sticky, so that a column is read in one go and asked once. */
struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

static size_t bytes_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static uint64_t get_varint(struct cursor *cursor)
{
    return varint_read(&cursor->at, cursor->end, &cursor->failed);
}

static uint64_t get_fixed(const uint8_t *at, size_t size_bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* `length` bytes of text, or NULL. A NUL inside would cut the string short in memory. */
static const char *get_text(struct cursor *cursor, uint64_t length)
{
    if (length > bytes_left(cursor) || memchr(cursor->at, 0, length)) {
        cursor->failed = true;
        return NULL;
    }
    const char *text = (const char *)cursor->at;
    cursor->at += length;
    return text;
}

/* False when the code stands for no value of this column. */
static bool decode(const struct column *column, uint64_t code, uint64_t row, uint64_t before,
                   uint64_t *value)
{
    uint64_t largest =
        column->size_bytes == 8 ? UINT64_MAX : (1ull << (8 * column->size_bytes)) - 1;

    switch (column->coding) {
    case CODING_OPTIONAL:
        *value = code ? code - 1 : NONE;
        return code <= NONE;
    case CODING_BACK:
        *value = code ? row - code : NONE;
        return code <= row;
    case CODING_SIGNED:
        *value = (uint64_t)number_to_signed(code);
        return (int64_t)*value >= INT32_MIN && (int64_t)*value <= INT32_MAX;
    case CODING_DELTA:
        *value = before + (uint64_t)number_to_signed(code);
        return *value <= largest;
    default:
        *value = code;
        return code <= largest;
    }
}

static void get_column(struct cursor *cursor, const struct table *table,
                       const struct column *column, char *row, size_t count)
{
    uint64_t before = 0;

    for (size_t i = 0; i < count && !cursor->failed; i++, row += table->row_bytes) {
        uint64_t value;
        if (!decode(column, get_varint(cursor), i, before, &value))
            cursor->failed = true;
        column_store(column, row, value);
        before = value;
    }
}

static void get_table(struct cursor *cursor, struct profile *profile, const struct table *table)
{
    uint64_t count = get_varint(cursor);

    if (count > bytes_left(cursor) / table->column_count || count >= NONE ||
        (table->single && count != 1)) {
        cursor->failed = true;
        return;
    }
    char *rows = table_allocate(profile, table, count);
    for (size_t c = 0; c < table->column_count && !cursor->failed; c++)
        get_column(cursor, table, &table->columns[c], rows, count);
}

/* The run's strings are added after the string table is read, or they would take its numbers. */
static void get_run(struct cursor *cursor, struct profile *profile)
{
    const char *texts[2];
    uint64_t lengths[2];

    profile->meta.date_seconds = get_varint(cursor);
    for (size_t i = 0; i < 2; i++) {
        lengths[i] = get_varint(cursor);
        texts[i] = get_text(cursor, lengths[i]);
        if (!texts[i])
            return;
    }
    profile->meta.host = profile_add_string(profile, texts[0], lengths[0]);
    profile->meta.pids = profile_add_string(profile, texts[1], lengths[1]);
}

static void get_strings(struct cursor *cursor, struct profile *profile)
{
    uint64_t count = get_varint(cursor);

    if (count > bytes_left(cursor) || count >= NONE - 2 || count == 0) {
        cursor->failed = true;
        return;
    }
    uint64_t *lengths = memory_allocate(count * sizeof *lengths);
    for (uint64_t i = 0; i < count; i++)
        lengths[i] = get_varint(cursor);
    cursor->failed |= lengths[0] != 0; /* string 0 is "", and profile_new made it */
    for (uint64_t i = 1; i < count && !cursor->failed; i++) {
        const char *text = get_text(cursor, lengths[i]);
        if (text)
            profile_add_string(profile, text, lengths[i]);
    }
    free(lengths);
}

/* A section's plain bytes, still packed in the file. */
struct packed_section {
    struct flame_section header;
    const uint8_t *stored;
};

static int read_header(struct cursor *file, uint32_t id, struct packed_section *section,
                       const char *name, struct error *error)
{
    const uint8_t *at = file->at;
    struct flame_section *header = &section->header;

    if (bytes_left(file) < FLAME_SECTION_BYTES)
        return error_set(error, "%s: truncated profile", name);
    header->id = (uint32_t)get_fixed(at, 4);
    header->method = (uint32_t)get_fixed(at + 4, 4);
    header->stored_bytes = get_fixed(at + 8, 8);
    header->plain_bytes = get_fixed(at + 16, 8);
    header->checksum = get_fixed(at + 24, 8);
    file->at += FLAME_SECTION_BYTES;
    if (header->stored_bytes > bytes_left(file))
        return error_set(error, "%s: truncated profile", name);
    section->stored = file->at;
    file->at += header->stored_bytes;

    XXH64_state_t *state = XXH64_createState();
    XXH64_reset(state, 0);
    XXH64_update(state, at, FLAME_SECTION_CHECKED);
    XXH64_update(state, section->stored, header->stored_bytes);
    uint64_t checksum = XXH64_digest(state);
    XXH64_freeState(state);
    if (checksum != header->checksum)
        return error_set(error, "%s: damaged profile: section %u was altered", name, id);
    if (header->id != id || header->method > FLAME_ZSTD)
        return error_set(error, "%s: damaged profile: section %u is not one", name, id);
    return OK;
}

/* The plain bytes, to be freed; NULL when they cannot be had. */
static uint8_t *unpack(const struct packed_section *section)
{
    const struct flame_section *header = &section->header;

    if (header->method == FLAME_STORED) {
        if (header->plain_bytes != header->stored_bytes)
            return NULL;
        uint8_t *copy = memory_allocate(header->plain_bytes);
        memcpy(copy, section->stored, header->plain_bytes);
        return copy;
    }
    if (header->plain_bytes / LARGEST_RATIO > header->stored_bytes + SLACK_BYTES ||
        ZSTD_getFrameContentSize(section->stored, header->stored_bytes) != header->plain_bytes)
        return NULL;
    uint8_t *plain = memory_allocate(header->plain_bytes);
    ZSTD_DCtx *context = memory_check(ZSTD_createDCtx());
    size_t got = ZSTD_decompressDCtx(context, plain, header->plain_bytes, section->stored,
                                     header->stored_bytes);
    ZSTD_freeDCtx(context);
    if (ZSTD_isError(got) || got != header->plain_bytes) {
        free(plain);
        return NULL;
    }
    return plain;
}

static int read_section(const struct packed_section *section, struct profile *profile,
                        const char *name, struct error *error)
{
    uint32_t id = section->header.id;
    uint8_t *plain = unpack(section);

    if (!plain)
        return error_set(error, "%s: damaged profile: section %u does not unpack", name, id);
    struct cursor cursor = {.at = plain, .end = plain + section->header.plain_bytes};
    if (id == TABLE_RUN)
        get_run(&cursor, profile);
    else if (id == TABLE_STRINGS)
        get_strings(&cursor, profile);
    else
        get_table(&cursor, profile, &profile_tables[id]);
    bool good = !cursor.failed && cursor.at == cursor.end;
    free(plain);
    if (!good)
        return error_set(error, "%s: damaged profile: section %u makes no sense", name, id);
    return OK;
}

/* What a small file of zeros, well packed, claims must not be the end of the machine. */
static uint64_t machine_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}

static int read_sections(struct cursor *file, struct profile *profile, const char *name,
                         struct error *error)
{
    struct packed_section sections[TABLE_END];
    uint64_t plain_bytes = 0, machine_bytes = machine_memory_bytes();

    for (uint32_t id = 1; id < TABLE_END; id++) {
        if (read_header(file, id, &sections[id], name, error))
            return ERROR;
        if (__builtin_add_overflow(plain_bytes, sections[id].header.plain_bytes, &plain_bytes) ||
            plain_bytes > machine_bytes)
            return error_set(error, "%s: unpacked it would not fit into this machine's memory",
                             name);
    }
    if (file->at != file->end)
        return error_set(error, "%s: damaged profile: %zu bytes too many", name, bytes_left(file));
    for (uint32_t id = 1; id < TABLE_END; id++)
        if (id != TABLE_RUN && read_section(&sections[id], profile, name, error))
            return ERROR;
    if (read_section(&sections[TABLE_RUN], profile, name, error))
        return ERROR;
    return profile_check(profile, name, error);
}

int flame_parse(const uint8_t *bytes, size_t size_bytes, const char *name, struct profile **profile,
                struct error *error)
{
    struct cursor file = {.at = bytes, .end = bytes + size_bytes};
    size_t compared = size_bytes < FLAME_MAGIC_BYTES ? size_bytes : FLAME_MAGIC_BYTES;

    *profile = NULL;
    if (compared == 0 || memcmp(bytes, FLAME_MAGIC, compared))
        return error_set(error, "%s: not a trueflame profile", name);
    if (size_bytes < FLAME_MAGIC_BYTES + 8)
        return error_set(error, "%s: truncated profile", name);
    uint64_t version = get_fixed(bytes + FLAME_MAGIC_BYTES, 4);
    if (version != FLAME_VERSION)
        return error_set(error, "%s: a profile of version %u; this trueflame reads version %u",
                         name, (unsigned)version, FLAME_VERSION);
    if (get_fixed(bytes + FLAME_MAGIC_BYTES + 4, 4) != TABLE_END - 1)
        return error_set(error, "%s: damaged profile: wrong number of sections", name);
    file.at += FLAME_MAGIC_BYTES + 8;

    struct profile *made = profile_new();
    if (read_sections(&file, made, name, error)) {
        profile_free(made);
        return ERROR;
    }
    *profile = made;
    return OK;
}

int flame_read(const char *path, struct profile **profile, struct error *error)
{
    struct file_bytes file;

    *profile = NULL;
    if (file_read(&file, path, error))
        return ERROR;
    int result = flame_parse(file.bytes, file.size_bytes, path, profile, error);
    file_free(&file);
    return result;
}

/*
 * python_lines.c: which line of a code object an instruction belongs to.
 *
 * CPython has had three formats for it:
 *
 *   3.9    pairs of bytes: how far the address goes on, and then the line (signed)
 *   3.10   pairs of bytes: how long the range is, and how far its line is from the last one's
 *          (signed; -128: it has none)
 *   3.11   an entry for each range: a byte 1KKKKLLL, of K kind and L + 1 units of two bytes long,
 *          then what the kind asks for: how far the line is from the last one's, and columns
 *
 * The address of a code object is used again for other code, with the same name and the same first
 * line if it comes from the same place (`exec` in a loop), so a table is known by its bytes: unless
 * the engine tells when code is freed, they are compared each time a frame becomes current.
 *
 * Neighbours with the same line are joined: being at another line is what costs.
 */
#include "core/code.h"
#include "core/platform.h"
#include "core/python.h"

#define MIX             0x9e3779b97f4a7c15u
#define MOST_TABLE      (1u << 20) /* bytes: far beyond any function */
#define BYTES_SIZE      16         /* bytes object: how many */
#define BYTES_DATA      32         /* and where they begin */
#define KIND_NONE       15
#define KIND_LONG       14
#define KIND_NO_COLUMNS 13
#define KIND_ONE_LINE   10 /* to 12: as many lines on */
#define BEFORE_FIRST    UINT32_MAX

struct line_reader {
    const uint8_t *at, *end;
    struct python_line_range *ranges; /* NULL: only counted */
    uint32_t count;
    uint32_t address;
    int64_t line;
};

static void add_range(struct line_reader *reader, uint32_t size_bytes, bool has_line)
{
    uint32_t start = reader->address;
    uint32_t line = has_line && reader->line > 0 ? (uint32_t)reader->line : 0;

    reader->address += size_bytes;
    if (!size_bytes)
        return;
    struct python_line_range *last =
        reader->ranges && reader->count ? &reader->ranges[reader->count - 1] : NULL;
    if (last && last->line == line)
        last->end = reader->address;
    else if (reader->ranges)
        reader->ranges[reader->count++] =
            (struct python_line_range){.start = start, .end = reader->address, .line = line};
    else
        reader->count++;
}

/* Until the first instruction is fetched the pointer of a frame is -1, and its line the function's: a
 * generator that is thrown into before it began gets no further. Later versions have an instruction
 * that says so. The last range, since -1 is unsigned. */
static void add_before_first(struct line_reader *reader, uint32_t function_line)
{
    if (reader->ranges)
        reader->ranges[reader->count] = (struct python_line_range){
            .start = BEFORE_FIRST, .end = BEFORE_FIRST, .line = function_line};
    reader->count++;
}

static bool has_before_first(const struct python_lines *lines)
{
    return lines->range_count && lines->ranges[lines->range_count - 1].start == BEFORE_FIRST;
}

static uint8_t take(struct line_reader *reader)
{
    return reader->at < reader->end ? *reader->at++ : 0;
}

/* Six bits a byte, least significant first; bit 6: there is more. */
static uint32_t take_varint(struct line_reader *reader)
{
    uint8_t byte = take(reader);
    uint32_t value = byte & 63;

    for (unsigned shift = 6; byte & 64 && shift < 32; shift += 6) {
        byte = take(reader);
        value |= (uint32_t)(byte & 63) << shift;
    }
    return value;
}

static int64_t take_signed(struct line_reader *reader)
{
    uint32_t value = take_varint(reader);

    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static void read_3_9(struct line_reader *reader)
{
    while (reader->end - reader->at >= 2) {
        uint8_t size_bytes = take(reader);
        add_range(reader, size_bytes, true);
        reader->line += (int8_t)take(reader);
    }
    add_range(reader, UINT32_MAX / 2 - reader->address, true);
}

static void read_3_10(struct line_reader *reader)
{
    while (reader->end - reader->at >= 2) {
        uint8_t size_bytes = take(reader);
        int8_t delta = (int8_t)take(reader);
        if (delta != -128)
            reader->line += delta;
        add_range(reader, size_bytes, delta != -128);
    }
}

static void read_3_11(struct line_reader *reader)
{
    while (reader->at < reader->end) {
        uint8_t head = take(reader);
        unsigned kind = head >> 3 & 15, size_bytes = ((head & 7) + 1) * 2;
        if (kind == KIND_LONG || kind == KIND_NO_COLUMNS)
            reader->line += take_signed(reader);
        else if (kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS)
            reader->line += kind - KIND_ONE_LINE;
        /* Columns, and the last line of several. */
        for (unsigned i = 0; kind == KIND_LONG && i < 3; i++)
            take_varint(reader);
        for (unsigned i = 0; kind < KIND_NO_COLUMNS && i < (kind < KIND_ONE_LINE ? 1u : 2u); i++)
            take(reader);
        add_range(reader, size_bytes, kind != KIND_NONE);
    }
}

static uint32_t read_ranges(const struct python_lines *lines, uint8_t format,
                            struct python_line_range *ranges)
{
    static void (*const readers[])(struct line_reader *) = {
        [PYTHON_LINES_3_9] = read_3_9,
        [PYTHON_LINES_3_10] = read_3_10,
        [PYTHON_LINES_3_11] = read_3_11,
    };
    struct line_reader reader = {
        .at = lines->table,
        .end = lines->table + lines->table_bytes,
        .ranges = ranges,
        .line = lines->function->line,
    };

    readers[format](&reader);
    if (format != PYTHON_LINES_3_11)
        add_before_first(&reader, lines->function->line);
    return reader.count;
}

static uint64_t hash_table(const uint8_t *bytes, size_t size_bytes, uint64_t hash)
{
    size_t i = 0;
    uint64_t word;

    for (; i + 8 <= size_bytes; i += 8) {
        __builtin_memcpy(&word, bytes + i, 8);
        hash = (hash ^ word) * MIX;
        hash ^= hash >> 32;
    }
    for (; i < size_bytes; i++)
        hash = (hash ^ bytes[i]) * MIX;
    return hash ^ hash >> 29;
}

static uint64_t hash_lines(const struct code_function *function, const uint8_t *bytes, size_t size)
{
    return hash_table(bytes, size, (uintptr_t)function);
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, size_t count)
{
    uint64_t differ = 0, x, y;

    for (; count >= 8 && !differ; count -= 8, a += 8, b += 8) {
        __builtin_memcpy(&x, a, 8);
        __builtin_memcpy(&y, b, 8);
        differ = x ^ y;
    }
    for (; count && !differ; count--)
        differ = *a++ ^ *b++;
    return !differ;
}

static bool same_lines(const struct python_lines *lines, const struct code_function *function,
                       const uint8_t *bytes, size_t size_bytes)
{
    return lines->function == function && lines->table_bytes == size_bytes &&
           same_bytes(lines->table, bytes, size_bytes);
}

static void table_grow(struct python *python)
{
    size_t old_capacity = python->lines_capacity;
    struct python_lines **old = python->lines;

    python->lines_capacity = old_capacity ? 2 * old_capacity : 1024;
    python->lines = platform_allocate(python->lines_capacity * sizeof *old);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i])
            continue;
        size_t at = hash_lines(old[i]->function, old[i]->table, old[i]->table_bytes);
        for (at &= python->lines_capacity - 1; python->lines[at];
             at = (at + 1) & (python->lines_capacity - 1))
            ;
        python->lines[at] = old[i];
    }
    platform_release(old, old_capacity * sizeof *old);
}

/* The last range of 3.9's has no end. */
static uint32_t indexed_instructions(const struct python_lines *lines)
{
    const uint32_t open_end = 1024, most = UINT16_MAX;
    const uint32_t count = lines->range_count - has_before_first(lines);

    if (!count || count >= most)
        return 0;
    const struct python_line_range *last = &lines->ranges[count - 1];
    uint32_t end = last->end - last->start > MOST_TABLE ? last->start + open_end : last->end;
    return end / 2 + 1;
}

static void index_ranges(struct python_lines *lines)
{
    uint32_t at = 0;

    if (lines->range_of_count && has_before_first(lines))
        lines->range_of[0] = (uint16_t)(lines->range_count - 1);
    for (uint32_t i = 1; i < lines->range_of_count; i++) {
        while (at + 1 < lines->range_count && lines->ranges[at + 1].start <= (i - 1) * 2)
            at++;
        lines->range_of[i] = (uint16_t)at;
    }
}

static struct python_line_bounds *bounds_new(const struct python_lines *lines, uint8_t unit_bytes)
{
    struct python_line_bounds *bounds =
        platform_allocate((lines->range_count + 1) * sizeof *bounds);

    for (uint32_t i = 0; i < lines->range_count; i++)
        bounds[i] = (struct python_line_bounds){lines->ranges[i].start / unit_bytes,
                                                lines->ranges[i].end / unit_bytes};
    if (has_before_first(lines))
        bounds[lines->range_count - 1] =
            (struct python_line_bounds){BEFORE_FIRST, (uint64_t)BEFORE_FIRST + 1};
    return bounds;
}

static struct python_lines *lines_new(const struct python_layout *layout,
                                      struct code_function *function, const uint8_t *bytes,
                                      uint32_t size_bytes)
{
    struct python_lines read = {
        .function = function,
        .table_bytes = size_bytes,
        .table = platform_allocate(size_bytes),
    };

    __builtin_memcpy(read.table, bytes, size_bytes);
    uint32_t most = read_ranges(&read, layout->line_format, NULL);
    read.ranges = platform_allocate((most + 1) * sizeof *read.ranges);
    read.range_count = read_ranges(&read, layout->line_format, read.ranges);
    read.bounds = bounds_new(&read, layout->ip_unit);
    read.range_of_count = indexed_instructions(&read);
    struct python_lines *lines =
        platform_allocate(sizeof *lines + read.range_of_count * sizeof *lines->range_of);
    *lines = read;
    index_ranges(lines);
    return lines;
}

static struct python_lines *find_lines(struct python *python, struct code_function *function,
                                       const uint8_t *bytes, uint32_t size_bytes)
{
    if (2 * python->lines_count >= python->lines_capacity)
        table_grow(python);
    size_t at = hash_lines(function, bytes, size_bytes) & (python->lines_capacity - 1);
    for (; python->lines[at]; at = (at + 1) & (python->lines_capacity - 1))
        if (same_lines(python->lines[at], function, bytes, size_bytes))
            return python->lines[at];
    python->lines[at] = lines_new(&python->module->layout, function, bytes, size_bytes);
    python->lines_count++;
    return python->lines[at];
}

static size_t recent_slot(uint64_t code)
{
    return code * MIX >> (64 - PYTHON_RECENT_BITS);
}

struct python_lines *python_lines_of(struct python *python, uint64_t code,
                                     struct code_function *function)
{
    const struct python_layout *layout = &python->module->layout;
    uint64_t table, size_bytes;
    size_t at = recent_slot(code);
    bool known = python->recent_lines[at].code == code;
    struct python_lines *lines = python->recent_lines[at].lines;

    if (!python->module->checked)
        return NULL;
    if (known && python->module->freer && lines->function == function)
        return lines;
    /* The interpreter holds these: a code object was found at this address. */
    __builtin_memcpy(&table, (const void *)(uintptr_t)(code + layout->code_line_table), 8);
    __builtin_memcpy(&size_bytes, (const void *)(uintptr_t)(table + BYTES_SIZE), 8);
    if (size_bytes > MOST_TABLE)
        return NULL;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)(table + BYTES_DATA);
    if (!known || !same_lines(lines, function, bytes, size_bytes)) {
        lines = find_lines(python, function, bytes, (uint32_t)size_bytes);
        python->recent_lines[at].code = code;
        python->recent_lines[at].lines = lines;
    }
    return lines;
}

void python_lines_forget(struct python *python, uint64_t code)
{
    size_t at = recent_slot(code);

    if (python->recent_lines[at].code == code)
        python->recent_lines[at].code = 0;
}

struct python_line_range *python_lines_search(const struct python_lines *lines, uint64_t offset)
{
    uint32_t low = 0, high = lines->range_count;

    if (!high)
        return NULL;
    if (python_is_before(offset))
        return &lines->ranges[has_before_first(lines) ? high - 1 : 0];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (lines->ranges[middle].start <= offset)
            low = middle;
        else
            high = middle;
    }
    return &lines->ranges[low];
}

#include "core/jitdump.h"

#define MAGIC               0x4A695444u /* "JiTD" */
#define RECORD_HEADER_BYTES 16
#define FLAG_PROCESSOR_TIME 1

/* A stretch of one record that is still to be read. Reading past its end gives zeros and is
 * remembered, so that a record is checked once, after all its fields were read. */
struct cursor {
    const uint8_t *at, *end;
    bool swapped, failed;
};

static const uint8_t *take_bytes(struct cursor *cursor, uint64_t count)
{
    if (count > (uint64_t)(cursor->end - cursor->at)) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += count;
    return bytes;
}

static uint32_t take_u32(struct cursor *cursor)
{
    const uint8_t *bytes = take_bytes(cursor, 4);
    uint32_t value = 0;

    if (bytes)
        __builtin_memcpy(&value, bytes, sizeof value);
    return cursor->swapped ? __builtin_bswap32(value) : value;
}

static uint64_t take_u64(struct cursor *cursor)
{
    const uint8_t *bytes = take_bytes(cursor, 8);
    uint64_t value = 0;

    if (bytes)
        __builtin_memcpy(&value, bytes, sizeof value);
    return cursor->swapped ? __builtin_bswap64(value) : value;
}

static const char *take_string(struct cursor *cursor)
{
    const uint8_t *start = cursor->at;
    const uint8_t *end = start;

    while (end < cursor->end && *end)
        end++;
    if (end == cursor->end) {
        cursor->failed = true;
        return "";
    }
    cursor->at = end + 1;
    return (const char *)start;
}

const char *jitdump_open(struct jitdump_reader *reader, const void *bytes, size_t length)
{
    struct cursor cursor = {.at = bytes, .end = (const uint8_t *)bytes + length};

    *reader = (struct jitdump_reader){.bytes = bytes, .length = length};
    if (length < JITDUMP_HEADER_BYTES)
        return "is too short for a jitdump";
    uint32_t magic = take_u32(&cursor);
    if (magic != MAGIC && magic != __builtin_bswap32(MAGIC))
        return "is not a jitdump";
    cursor.swapped = reader->swapped = magic != MAGIC;
    uint32_t version = take_u32(&cursor), total_bytes = take_u32(&cursor);
    reader->elf_machine = take_u32(&cursor);
    reader->padding = take_u32(&cursor);
    reader->pid = take_u32(&cursor);
    reader->time = take_u64(&cursor);
    reader->processor_time = take_u64(&cursor) & FLAG_PROCESSOR_TIME;
    if (version != 1)
        return "is a jitdump of a version that is not known";
    if (total_bytes < JITDUMP_HEADER_BYTES)
        return "is a jitdump whose header is too short";
    reader->position = total_bytes;
    return NULL;
}

void jitdump_extend(struct jitdump_reader *reader, const void *bytes, size_t length)
{
    reader->bytes = bytes;
    reader->length = length;
}

static bool ends_in_range(uint64_t start, uint64_t bytes)
{
    uint64_t last;

    return bytes && !__builtin_add_overflow(start, bytes - 1, &last);
}

static bool read_load(struct cursor *cursor, struct jitdump_load *load)
{
    load->pid = take_u32(cursor);
    load->tid = take_u32(cursor);
    load->virtual_address = take_u64(cursor);
    load->code_address = take_u64(cursor);
    load->code_bytes = take_u64(cursor);
    load->code_index = take_u64(cursor);
    load->name = take_string(cursor);
    load->code = take_bytes(cursor, load->code_bytes);
    return ends_in_range(load->code_address, load->code_bytes);
}

static bool read_move(struct cursor *cursor, struct jitdump_move *move)
{
    move->pid = take_u32(cursor);
    move->tid = take_u32(cursor);
    move->virtual_address = take_u64(cursor);
    move->old_address = take_u64(cursor);
    move->new_address = take_u64(cursor);
    move->code_bytes = take_u64(cursor);
    move->code_index = take_u64(cursor);
    return ends_in_range(move->old_address, move->code_bytes) &&
           ends_in_range(move->new_address, move->code_bytes);
}

static bool read_lines(struct cursor *cursor, struct jitdump_lines *lines)
{
    lines->code_address = take_u64(cursor);
    lines->left = take_u64(cursor);
    lines->at = cursor->at;
    lines->end = cursor->end;
    lines->file = NULL;
    lines->swapped = cursor->swapped;
    return true;
}

static bool read_unwind(struct cursor *cursor, struct jitdump_unwind *unwind)
{
    uint64_t all_bytes = take_u64(cursor);

    unwind->eh_frame_hdr_bytes = take_u64(cursor);
    unwind->mapped_bytes = take_u64(cursor);
    unwind->eh_frame = take_bytes(cursor, all_bytes);
    if (unwind->eh_frame_hdr_bytes > all_bytes)
        return false;
    unwind->eh_frame_bytes = all_bytes - unwind->eh_frame_hdr_bytes;
    return true;
}

/* Reads what is in a record. False when it contradicts itself or is of no kind known here. */
static bool read_record(struct jitdump_reader *reader, uint32_t id, struct cursor *cursor,
                        struct jitdump_record *record)
{
    bool right = true;

    switch (id) {
    case JITDUMP_LOAD:
        right = read_load(cursor, &record->load);
        break;
    case JITDUMP_MOVE:
        right = read_move(cursor, &record->move);
        break;
    case JITDUMP_LINES:
        right = read_lines(cursor, &record->lines);
        break;
    case JITDUMP_UNWIND:
        right = read_unwind(cursor, &record->unwind);
        break;
    case JITDUMP_CLOSE:
        break;
    default:
        reader->unknown_records++;
        return false;
    }
    record->kind = (enum jitdump_kind)id;
    if (right && !cursor->failed)
        return true;
    reader->bad_records++;
    return false;
}

bool jitdump_next(struct jitdump_reader *reader, struct jitdump_record *record)
{
    while (!reader->lost && reader->position < reader->length &&
           reader->length - reader->position >= RECORD_HEADER_BYTES) {
        size_t left = reader->length - reader->position;
        struct cursor cursor = {
            .at = reader->bytes + reader->position,
            .end = reader->bytes + reader->length,
            .swapped = reader->swapped,
        };
        uint32_t id = take_u32(&cursor), total_bytes = take_u32(&cursor);
        *record = (struct jitdump_record){0};
        record->time = take_u64(&cursor);
        if (total_bytes < RECORD_HEADER_BYTES) {
            reader->bad_records++;
            reader->lost = true;
            return false;
        }
        if (total_bytes > left)
            return false;
        cursor.end = reader->bytes + reader->position + total_bytes;
        reader->position += total_bytes;
        if (read_record(reader, id, &cursor, record))
            return true;
    }
    return false;
}

bool jitdump_next_line(struct jitdump_lines *lines, struct jitdump_line *line)
{
    struct cursor cursor = {.at = lines->at, .end = lines->end, .swapped = lines->swapped};

    if (!lines->left)
        return false;
    line->address = take_u64(&cursor);
    line->line = take_u32(&cursor);
    line->discriminator = take_u32(&cursor);
    const char *file = take_string(&cursor);
    /* A name that is one byte of 255 stands for the name before. */
    bool repeated = (uint8_t)file[0] == 0xff && file[0] && !file[1];
    if (cursor.failed || (repeated && !lines->file)) {
        lines->left = 0;
        return false;
    }
    line->file = lines->file = repeated ? lines->file : file;
    lines->at = cursor.at;
    lines->left--;
    return true;
}

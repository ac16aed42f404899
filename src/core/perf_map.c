#include "core/perf_map.h"
#include "core/platform.h"

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

static int digit_value(char character)
{
    if (character >= '0' && character <= '9')
        return character - '0';
    character |= 0x20;
    return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* A hexadecimal number with or without 0x, ended by a blank. Moves `*at` behind the blanks. */
static bool parse_number(const char **at, const char *end, uint64_t *value)
{
    const char *text = *at;

    if (end - text > 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
        text += 2;
    const char *digits = text;
    for (*value = 0; text < end && digit_value(*text) >= 0; text++) {
        if (*value >> 60)
            return false;
        *value = *value << 4 | (unsigned)digit_value(*text);
    }
    if (text == digits || text == end || !is_blank(*text))
        return false;
    while (text < end && is_blank(*text))
        text++;
    *at = text;
    return true;
}

bool perf_map_parse_line(const char *line, size_t length, struct perf_map_entry *entry)
{
    const char *end = line + length;
    uint64_t last;

    while (line < end && is_blank(*line))
        line++;
    if (end > line && end[-1] == '\r')
        end--;
    if (!parse_number(&line, end, &entry->start) || !parse_number(&line, end, &entry->size_bytes))
        return false;
    if (line == end || !entry->size_bytes ||
        __builtin_add_overflow(entry->start, entry->size_bytes - 1, &last))
        return false;
    entry->name = line;
    entry->name_length = (size_t)(end - line);
    entry->name_cut = entry->name_length > PERF_MAP_LONGEST_NAME_BYTES;
    if (entry->name_cut)
        entry->name_length = PERF_MAP_LONGEST_NAME_BYTES;
    return true;
}

static void take_line(struct perf_map_parser *parser, const char *line, size_t length,
                      perf_map_receiver *receiver, void *context)
{
    struct perf_map_entry entry;

    if (!length)
        return;
    if (!perf_map_parse_line(line, length, &entry)) {
        parser->bad_lines++;
        return;
    }
    entry.name_cut |= parser->overflowed;
    parser->entries++;
    parser->cut_names += entry.name_cut;
    receiver(context, &entry);
}

static void hold(struct perf_map_parser *parser, const char *bytes, size_t length)
{
    size_t room = sizeof parser->line - parser->held;

    if (length > room) {
        length = room;
        parser->overflowed = true;
    }
    __builtin_memcpy(parser->line + parser->held, bytes, length);
    parser->held += length;
}

static void take_held_line(struct perf_map_parser *parser, perf_map_receiver *receiver,
                           void *context)
{
    take_line(parser, parser->line, parser->held, receiver, context);
    parser->held = 0;
    parser->overflowed = false;
}

void perf_map_feed(struct perf_map_parser *parser, const char *bytes, size_t length,
                   perf_map_receiver *receiver, void *context)
{
    const char *end = bytes + length;

    while (bytes < end) {
        const char *newline = bytes;
        while (newline < end && *newline != '\n')
            newline++;
        if (newline == end) {
            hold(parser, bytes, (size_t)(end - bytes));
            return;
        }
        if (parser->held) {
            hold(parser, bytes, (size_t)(newline - bytes));
            take_held_line(parser, receiver, context);
        } else {
            take_line(parser, bytes, (size_t)(newline - bytes), receiver, context);
        }
        bytes = newline + 1;
    }
}

void perf_map_finish(struct perf_map_parser *parser, perf_map_receiver *receiver, void *context)
{
    if (parser->held)
        take_held_line(parser, receiver, context);
}

static bool is_same(const struct perf_map_file *file, const struct platform_file *found)
{
    return file->known && file->device == found->device && file->inode == found->inode;
}

static void begin_at(struct perf_map_file *file, const struct platform_file *found, uint64_t offset)
{
    file->known = true;
    file->device = found->device;
    file->inode = found->inode;
    file->offset = offset;
    file->parser.held = 0;
    file->parser.overflowed = false;
}

void perf_map_open(struct perf_map_file *file, const char *path, uint32_t owner)
{
    struct platform_file found;
    size_t none = 0;

    *file = (struct perf_map_file){.path = path, .owner = owner};
    if (platform_look_at(path, 0, NULL, &none, &found) == PLATFORM_FILE)
        begin_at(file, &found, found.size_bytes);
}

const char *perf_map_read(struct perf_map_file *file, perf_map_receiver *receiver, void *context)
{
    char buffer[8192];
    struct platform_file found;

    for (;;) {
        size_t length = sizeof buffer;
        enum platform_look look =
            platform_look_at(file->path, file->offset, buffer, &length, &found);
        if (look == PLATFORM_ABSENT)
            return NULL; /* removed, or not there yet */
        if (look == PLATFORM_LINK)
            return "is a symbolic link; its names are not used";
        if (look == PLATFORM_OTHER)
            return "is not a file; its names are not used";
        if (look == PLATFORM_REFUSED)
            return "cannot be read; its names are not used";
        if (is_same(file, &found) && file->offset == found.size_bytes)
            return NULL; /* nothing new; nor is it for us to say whose a leftover file is */
        if (found.owner != file->owner && found.owner != 0)
            return "belongs to another user; its names are not used";
        if (!is_same(file, &found) || found.size_bytes < file->offset) {
            bool at_start = file->offset == 0;
            begin_at(file, &found, 0);
            if (!at_start)
                continue;
        }
        if (length == 0)
            return NULL;
        perf_map_feed(&file->parser, buffer, length, receiver, context);
        file->offset += length;
    }
}

const char *perf_map_close(struct perf_map_file *file, perf_map_receiver *receiver, void *context)
{
    const char *complaint = perf_map_read(file, receiver, context);

    perf_map_finish(&file->parser, receiver, context);
    return complaint;
}

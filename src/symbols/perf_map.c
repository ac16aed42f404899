#include "symbols/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    memcpy(parser->line + parser->held, bytes, length);
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
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        if (!newline) {
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

void perf_map_open(struct perf_map_file *file, const char *path, uid_t owner, uint64_t skip_bytes)
{
    memset(file, 0, sizeof *file);
    file->descriptor = -1;
    file->path = path;
    file->owner = owner;
    file->offset = skip_bytes;
}

static int check_status(const struct perf_map_file *file, const struct stat *status,
                        struct error *error)
{
    if (S_ISLNK(status->st_mode))
        return error_set(error, "%s is a symbolic link; its names are not used", file->path);
    if (!S_ISREG(status->st_mode))
        return error_set(error, "%s is not a file; its names are not used", file->path);
    if (status->st_uid != file->owner && status->st_uid != 0)
        return error_set(error, "%s belongs to another user; its names are not used", file->path);
    return OK;
}

/* Looks whether the path leads to another file than the one that is open, and opens that. */
static int follow_path(struct perf_map_file *file, struct error *error)
{
    struct stat status;

    if (lstat(file->path, &status) != 0)
        return OK; /* removed, or not there yet: what is open, if anything, goes on */
    if (file->descriptor >= 0 && status.st_dev == file->device && status.st_ino == file->inode)
        return OK;
    if (check_status(file, &status, error) != OK)
        return ERROR;
    int descriptor = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return error_set_errno(error, "cannot open %s", file->path);
    if (fstat(descriptor, &status) != 0 || check_status(file, &status, error) != OK) {
        close(descriptor);
        return ERROR;
    }
    if (file->descriptor >= 0) {
        close(file->descriptor);
        file->offset = 0;
        file->parser.held = 0;
    }
    file->descriptor = descriptor;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return OK;
}

static int read_new_bytes(struct perf_map_file *file, perf_map_receiver *receiver, void *context,
                          struct error *error)
{
    char buffer[16384];
    struct stat status;

    if (fstat(file->descriptor, &status) != 0)
        return error_set_errno(error, "cannot read %s", file->path);
    if ((uint64_t)status.st_size < file->offset) {
        file->offset = 0;
        file->parser.held = 0;
    }
    for (;;) {
        ssize_t length = pread(file->descriptor, buffer, sizeof buffer, (off_t)file->offset);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return error_set_errno(error, "cannot read %s", file->path);
        if (length == 0)
            return OK;
        perf_map_feed(&file->parser, buffer, (size_t)length, receiver, context);
        file->offset += (uint64_t)length;
    }
}

int perf_map_read(struct perf_map_file *file, perf_map_receiver *receiver, void *context,
                  struct error *error)
{
    if (follow_path(file, error) != OK)
        return ERROR;
    return file->descriptor < 0 ? OK : read_new_bytes(file, receiver, context, error);
}

int perf_map_close(struct perf_map_file *file, perf_map_receiver *receiver, void *context,
                   struct error *error)
{
    int result = perf_map_read(file, receiver, context, error);

    perf_map_finish(&file->parser, receiver, context);
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
    return result;
}

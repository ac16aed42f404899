#include "formats/text.h"

#include <inttypes.h>
#include <string.h>

const char *text_grouped(char grouped[GROUPED_BYTES], uint64_t value)
{
    char digits[24], *at = grouped;
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value);

    for (int i = 0; i < count; i++) {
        *at++ = digits[i];
        if (i + 1 < count && (count - 1 - i) % 3 == 0)
            *at++ = ',';
    }
    *at = 0;
    return grouped;
}

const char *text_grouped_signed(char grouped[GROUPED_BYTES], int64_t value, bool plus)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    grouped[0] = value < 0 ? '-' : '+';
    text_grouped(grouped + (value < 0 || (plus && value > 0)), size);
    return grouped;
}

int text_column(size_t terminal, int usual, uint64_t largest)
{
    enum { WIDE = 120, LEAST = 5 };
    char grouped[GROUPED_BYTES];
    int needed = (int)strlen(text_grouped(grouped, largest));

    if (terminal == 0 || terminal >= WIDE || needed >= usual)
        return usual;
    return needed > LEAST ? needed : LEAST;
}

double text_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Of the C1 set, which some terminals obey too, `text` is at the first of two bytes (of UTF-8). */
static size_t control_length(const char *text)
{
    unsigned char byte = (unsigned char)text[0], next = (unsigned char)text[1];

    if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
        return 2;
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

static void write_bytes(FILE *stream, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t control = control_length(text + i);
        putc(control ? '?' : text[i], stream);
        i += control ? control : 1;
    }
}

void text_write_printable(FILE *stream, const char *text)
{
    write_bytes(stream, text, strlen(text));
}

/* Bytes are taken for columns, but a multi-byte character is never cut. */
void text_write_shortened(FILE *stream, const char *name, size_t width)
{
    size_t length = strlen(name);

    if (width < 8 || length <= width) {
        write_bytes(stream, name, length);
        return;
    }
    size_t head = (width - 3) / 2, tail = length - (width - 3 - head);
    while (head && ((unsigned char)name[head] & 0xc0) == 0x80)
        head--;
    while (tail < length && ((unsigned char)name[tail] & 0xc0) == 0x80)
        tail++;
    write_bytes(stream, name, head);
    fputs("...", stream);
    write_bytes(stream, name + tail, length - tail);
}

const char *text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

const char *text_heat(double percent, bool on)
{
    return !on ? "" : percent >= 10 ? "\033[1;31m" : percent >= 1 ? "\033[33m" : "";
}

const char *text_faint(bool on)
{
    return on ? "\033[2m" : "";
}

const char *text_plain(bool on)
{
    return on ? "\033[0m" : "";
}

void text_write_function(FILE *stream, const char *name, const char *path, size_t width,
                         bool colour)
{
    enum { ENOUGH = 24 }; /* of a name to tell it by */
    const char *object = text_base_name(path);
    size_t name_length = strlen(name), object_length = *object ? strlen(object) + strlen(" []") : 0;
    size_t needed = object_length + (name_length < ENOUGH ? name_length : ENOUGH);
    bool has_object = *object && (width == 0 || needed <= width);

    text_write_shortened(stream, name, width && has_object ? width - object_length : width);
    if (!has_object)
        return;
    fprintf(stream, " %s[", text_faint(colour));
    text_write_printable(stream, object);
    fprintf(stream, "]%s", text_plain(colour));
}

size_t text_left(size_t terminal, size_t used)
{
    enum { LEAST = 12 }; /* a shorter name tells nothing: the line is longer then */

    if (terminal == 0)
        return 0;
    return terminal > used + LEAST ? terminal - used : LEAST;
}

#include "common/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_start(struct json *json, FILE *stream)
{
    *json = (struct json){.stream = stream};
}

static void before_value(struct json *json)
{
    uint64_t bit = 1ull << json->level;

    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->used & bit)
        putc(',', json->stream);
    json->used |= bit;
    if (json->pretty && json->level && json->level <= 2)
        fprintf(json->stream, "\n%*s", 2 * (int)json->level, "");
}

static void open_level(struct json *json, char bracket)
{
    before_value(json);
    putc(bracket, json->stream);
    json->level++;
    assert(json->level < JSON_LEVELS);
    json->used &= ~(1ull << json->level);
}

static void close_level(struct json *json, char bracket)
{
    bool had_values = json->used >> json->level & 1;

    assert(json->level);
    json->level--;
    if (json->pretty && had_values && json->level < 2)
        fprintf(json->stream, "\n%*s", 2 * (int)json->level, "");
    putc(bracket, json->stream);
    if (json->level == 0)
        putc('\n', json->stream);
}

void json_object(struct json *json)
{
    open_level(json, '{');
}

void json_array(struct json *json)
{
    open_level(json, '[');
}

void json_end_object(struct json *json)
{
    close_level(json, '}');
}

void json_end_array(struct json *json)
{
    close_level(json, ']');
}

/* The length of the UTF-8 sequence at `text`, 0 when it is not one. Reads no byte past a NUL. */
static unsigned sequence_length(const unsigned char *text)
{
    unsigned length = text[0] < 0x80                       ? 1
                      : text[0] >= 0xc2 && text[0] <= 0xdf ? 2
                      : (text[0] & 0xf0) == 0xe0           ? 3
                      : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                           : 0;

    for (unsigned i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool surrogate = text[0] == 0xed && text[1] > 0x9f;
    bool too_large = text[0] == 0xf4 && text[1] > 0x8f;
    return length > 2 && (overlong || surrogate || too_large) ? 0 : length;
}

static void write_text(FILE *stream, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    putc('"', stream);
    while (*at) {
        unsigned length = sequence_length(at);
        if (length == 0) {
            fputs("\\ufffd", stream);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            putc('\\', stream);
            putc(*at, stream);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(stream, "\\u%04x", *at);
        } else {
            fwrite(at, 1, length, stream);
        }
        at += length;
    }
    putc('"', stream);
}

void json_key(struct json *json, const char *key)
{
    before_value(json);
    write_text(json->stream, key);
    putc(':', json->stream);
    if (json->pretty)
        putc(' ', json->stream);
    json->after_key = true;
}

void json_string(struct json *json, const char *text)
{
    before_value(json);
    write_text(json->stream, text);
}

void json_number(struct json *json, uint64_t value)
{
    before_value(json);
    fprintf(json->stream, "%" PRIu64, value);
}

void json_signed(struct json *json, int64_t value)
{
    before_value(json);
    fprintf(json->stream, "%" PRId64, value);
}

void json_double(struct json *json, double value)
{
    before_value(json);
    if (isfinite(value))
        fprintf(json->stream, "%.6g", value);
    else
        fputs("null", json->stream);
}

void json_bool(struct json *json, bool value)
{
    before_value(json);
    fputs(value ? "true" : "false", json->stream);
}

void json_null(struct json *json)
{
    before_value(json);
    fputs("null", json->stream);
}

void json_key_string(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

void json_key_number(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_number(json, value);
}

void json_key_signed(struct json *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_signed(json, value);
}

/*
 * json.h: writing JSON as it comes, without building it in memory.
 *
 * The writer keeps only a bit a nesting level (is this the first value here?), so nesting is
 * limited to JSON_LEVELS, which no document of ours comes near. Text is written as valid UTF-8
 * whatever it is: bytes that are not become U+FFFD. Integers are written in full; a reader that
 * keeps them as doubles loses those above 2^53.
 */
#ifndef TRUEFLAME_JSON_H
#define TRUEFLAME_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_LEVELS 64

struct json {
    FILE *stream;
    unsigned level;
    uint64_t used; /* bit n: level n has a value already */
    bool after_key;
    bool pretty; /* a line for each value of the outer two levels */
};

void json_start(struct json *json, FILE *stream);
void json_object(struct json *json); /* { */
void json_array(struct json *json);  /* [ */
void json_end_object(struct json *json);
void json_end_array(struct json *json);
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *text);
void json_number(struct json *json, uint64_t value);
void json_signed(struct json *json, int64_t value);
void json_double(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* key and value in one. */
void json_key_string(struct json *json, const char *key, const char *text);
void json_key_number(struct json *json, const char *key, uint64_t value);
void json_key_signed(struct json *json, const char *key, int64_t value);

#endif

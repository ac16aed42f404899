/*
 * text.h: the handful of string functions the core needs, since it has no libc.
 */
#ifndef TRUEFLAME_CORE_TEXT_H
#define TRUEFLAME_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t text_length(const char *text);
bool text_equal(const char *a, const char *b);
bool text_equal_n(const char *a, const char *b, size_t count);
bool text_starts_with(const char *text, const char *prefix);

/* A copy that is never released: names live as long as the profile. */
char *text_keep(const char *text);
/* Of a list with NULL at the end. */
char **text_keep_list(char *const *list);

/* Writes `number` in base 10 and a NUL; returns the length. `out` has room for 21 bytes. */
size_t text_from_number(char *out, uint64_t number);

/* The number in base 10 that `text` begins with, 0 if there is none; *end is behind it. */
uint64_t text_to_number(const char *text, const char **end);

#endif

/*
 * text.h: numbers and names as tables for people write them.
 */
#ifndef TRUEFLAME_TEXT_H
#define TRUEFLAME_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdbool.h>

#define GROUPED_BYTES 32

/* `value` with a comma after every third digit. */
const char *text_grouped(char grouped[GROUPED_BYTES], uint64_t value);
const char *text_grouped_signed(char grouped[GROUPED_BYTES], int64_t value, bool plus);

/* 100 * part / whole; 0 of nothing is 0. */
double text_percent(uint64_t part, uint64_t whole);

/* Writes `text`, and `?` for each control character in it but a tab: a terminal would obey it, and a
 * line would end. */
void text_write_printable(FILE *stream, const char *text);

/* The same, but at most `width` columns of `name`, cutting out its middle; width 0 is all of it. */
void text_write_shortened(FILE *stream, const char *name, size_t width);

/* The last part of a path. */
const char *text_base_name(const char *path);

/* Terminal colours; "" when `on` is false. */
const char *text_heat(double percent, bool on);
const char *text_faint(bool on);
const char *text_plain(bool on);

/* " [OBJECT]" of a path's last part, in faint colour where `colour`; nothing for no path. */
void text_write_object(FILE *stream, const char *path, bool colour);

#endif

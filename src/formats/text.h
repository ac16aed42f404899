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

/* How wide a column of numbers up to `largest` is: `usual`, but on a terminal that is not wide (0: not
 * one) no wider than it must be, so that room is left for names. */
int text_column(size_t terminal, int usual, uint64_t largest);

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

/* "NAME [OBJECT]", OBJECT being the last part of a path ("": none), in faint colour where `colour`. In
 * at most `width` columns, if not 0: the name is shortened, or OBJECT left out where there would be too
 * little of the name. */
void text_write_function(FILE *stream, const char *name, const char *path, size_t width,
                         bool colour);

/* What is left of a terminal's width (0: it is none) behind `used` columns, for text_write_shortened. */
size_t text_left(size_t terminal, size_t used);

#endif

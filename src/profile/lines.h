/*
 * lines.h: instructions by source line, exact at line detail.
 *
 * An instruction counts for the line of the innermost function its location names: in inlined code
 * that is the line of the inlined function.
 *
 * For Python the profile has a table of what ran for each line, by context. How much of it is the
 * line's own depends, as for functions, on what is shown: with `mixed` what the Python function
 * executes itself, interpreter and all; with `only` also the native functions below it, up to the
 * next Python one; with `native` nothing. So the lines of a function add up to its self count.
 */
#ifndef TRUEFLAME_LINES_H
#define TRUEFLAME_LINES_H

#include "profile/transform.h"

struct source_line {
    uint32_t file; /* string */
    uint32_t line; /* 0: the file is known, the line is not */
    uint64_t instructions;
};

struct source_lines {
    struct source_line *lines; /* sorted by file (its text), then line */
    size_t count, capacity;
    uint64_t total_instructions; /* also of what has no line */
};

/* `part` NULL: all parts. */
void source_lines_collect(struct source_lines *lines, const struct profile *profile,
                          const char *part, enum python_mode mode);
void source_lines_free(struct source_lines *lines);

/* The same by function: what ran in each, by line. Sorted by function, file (its number), line. */
struct function_line {
    uint32_t function;
    struct source_line line;
};

struct function_lines {
    struct function_line *rows;
    size_t count, capacity;
};

void function_lines_collect(struct function_lines *lines, const struct profile *profile);
void function_lines_free(struct function_lines *lines);

/* Python's lines by function, in the same order. `chosen`: by context, NULL: all. */
void python_function_lines(struct function_lines *lines, const struct profile *profile,
                           enum python_mode mode, const uint8_t *chosen);

/* Sorts the rows and joins equal ones. */
void function_lines_finish(struct function_lines *lines);

/* The rows of a function: [*first, *end). */
void function_lines_range(const struct function_lines *lines, uint32_t function, size_t *first,
                          size_t *end);

/* By context: does it belong to a part of this name (NULL: every one does)? To be freed. */
uint8_t *profile_contexts_of_part(const struct profile *profile, const char *part);

#endif

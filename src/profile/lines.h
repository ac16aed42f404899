/*
 * lines.h: instructions by source line, exact at line detail.
 *
 * An instruction counts for the line of the innermost function its location names: in inlined code
 * that is the line of the inlined function. Python lines come from the profile's lines table.
 */
#ifndef TRUEFLAME_LINES_H
#define TRUEFLAME_LINES_H

#include "profile/profile.h"

struct source_line {
    uint32_t file; /* string */
    uint32_t line; /* 0: the file is known, the line is not */
    uint64_t instructions;
};

struct source_lines {
    struct source_line *lines; /* sorted by file (its text), then line */
    size_t count, capacity;
};

/* `part` NULL: all parts. */
void source_lines_collect(struct source_lines *lines, const struct profile *profile,
                          const char *part);
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

/* The rows of a function: [*first, *end). */
void function_lines_range(const struct function_lines *lines, uint32_t function, size_t *first,
                          size_t *end);

/* By context: does it belong to a part of this name (NULL: every one does)? To be freed. */
uint8_t *profile_contexts_of_part(const struct profile *profile, const char *part);

#endif

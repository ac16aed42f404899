/*
 * diffs.h: what every way of writing a diff is.
 */
#ifndef TRUEFLAME_DIFFS_H
#define TRUEFLAME_DIFFS_H

#include "profile/diff.h"

#include <stdio.h>

struct diff_options {
    const char *base_name, *new_name;
    size_t limit; /* rows of a table */
    bool all;     /* paths that did not change too */
    bool colour;
    size_t width; /* of the terminal; 0: names are never shortened */
};

struct diff_format {
    const char *name;
    const char *summary;
    bool long_paths; /* writes every path in full: a deep recursion makes it very large */
    int (*write)(const struct diff *diff, const struct diff_options *options, FILE *stream,
                 struct error *error);
};

extern const struct diff_format diff_text;
extern const struct diff_format diff_folded;
extern const struct diff_format diff_html;
extern const struct diff_format diff_json;
extern const struct diff_format diff_markdown;

/* For the writers: what changed, largest change first. */
struct diff_row {
    uint32_t index;     /* frame or node */
    uint64_t base, new; /* own instructions */
};

struct diff_rows {
    struct diff_row *rows;
    size_t count;
};

/* Functions whose own instructions, or whose total, or whose calls changed. */
struct diff_rows diff_changed_functions(const struct diff *diff,
                                        const struct diff_function *functions);
/* Nodes whose own instructions changed. */
struct diff_rows diff_changed_nodes(const struct diff *diff);

/* The path of a node, frames separated by ';', into a text to be freed. */
char *diff_path(const struct diff *diff, uint32_t node);

/* new - base, clamped to 64 bits signed. */
int64_t diff_change(uint64_t base, uint64_t new);

/* "+12.34%", "-5.00%", "new", "gone"; into at least 16 bytes. */
const char *diff_percent(char *text, uint64_t base, uint64_t new);

#endif

/*
 * report.h: tables for people (and, as JSON, for programs): the flat table, the tree, one function
 * with its callers and callees, the lines of a file.
 */
#ifndef TRUEFLAME_REPORT_H
#define TRUEFLAME_REPORT_H

#include "profile/transform.h"

#include <stdio.h>

enum report_sort { SORT_SELF, SORT_TOTAL, SORT_CALLS };

struct report_options {
    enum report_sort sort;
    size_t limit;         /* rows of a table */
    double least_percent; /* tree: frames below this share are left out, and counted */
    size_t most_depth;    /* tree: frames deeper than this are left out, and counted */
    bool json;
    bool colour;
    size_t width; /* of the terminal: longer names are shortened in the middle; 0: never */
};

void report_flat(const struct view *view, const struct report_options *options, FILE *stream);
void report_tree(const struct view *view, const struct report_options *options, FILE *stream);

/* ERROR when no function matches. */
int report_function(const struct view *view, const char *pattern,
                    const struct report_options *options, FILE *stream, struct error *error);

/* Of the transforms, the part and what is shown of Python count. ERROR when the profile knows no
 * line of such a file. */
int report_lines(const struct profile *profile, const struct transforms *transforms,
                 const char *file, const struct report_options *options, FILE *stream,
                 struct error *error);

#endif

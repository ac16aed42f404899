/*
 * html.h: the viewer's page: one file with everything in it. html.c has the format of its data.
 */
#ifndef TRUEFLAME_HTML_H
#define TRUEFLAME_HTML_H

#include "profile/diff.h"
#include "profile/transform.h"

#include <stdio.h>

struct html_options {
    const char *title; /* never NULL */
    bool embed_source; /* put the text of source files that ran into the page */
};

/* The profile after the transforms, with its threads and parts still to be told apart. */
int html_write(const struct profile *profile, const struct transforms *transforms,
               const struct html_options *options, FILE *stream, struct error *error);

void html_write_diff(const struct diff *diff, const struct html_options *options, FILE *stream);

#endif

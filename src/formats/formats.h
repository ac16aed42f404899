/*
 * formats.h: what every output and input format is: a name and one function.
 *
 * Writers stream: they write as they walk the view and hold no second copy of it. They know
 * nothing of engines; what they need of names and costs is in the view, and lines and build ids in
 * the view's profile. Write errors are not theirs: output_commit (common/output.h) sees them.
 */
#ifndef TRUEFLAME_FORMATS_H
#define TRUEFLAME_FORMATS_H

#include "common/file.h"
#include "profile/transform.h"
#include "profile/view.h"

#include <stdio.h>

enum frames_style {
    FRAMES_NAME, /* the name alone */
    FRAMES_FULL, /* with the object, and the address where that is not enough */
    FRAMES_RAW,  /* object and address */
};

struct export_options {
    enum frames_style frames;
    bool annotate;     /* mark inlined frames with _[i] (folded) */
    bool embed_source; /* put the source files that ran into the page (html) */
    const char *title; /* what the profile is called; never NULL */
};

struct export_format {
    const char *name;
    const char *summary;
    bool by_line;    /* wants functions line by line */
    bool long_paths; /* writes every path in full: a deep recursion makes it very large */
    int (*write)(const struct view *view, const struct export_options *options, FILE *stream,
                 struct error *error);
    /* Instead of `write`: for a format that tells threads and parts apart itself. */
    int (*write_profile)(const struct profile *profile, const struct transforms *transforms,
                         const struct export_options *options, FILE *stream, struct error *error);
};

extern const struct export_format format_callgrind;
extern const struct export_format format_firefox;
extern const struct export_format format_folded;
extern const struct export_format format_html;
extern const struct export_format format_json;
extern const struct export_format format_pprof;
extern const struct export_format format_speedscope;
extern const struct export_format format_svg;

struct import_format {
    const char *name;
    const char *summary;
    /* The bytes end in a 0 that size_bytes does not count, and the reader may change them; `name`
     * is what messages call the input. */
    int (*read)(const struct file_bytes *input, const char *name, struct profile **profile,
                struct error *error);
};

extern const struct import_format import_callgrind;
extern const struct import_format import_folded;
extern const struct import_format import_perf;
extern const struct import_format import_pprof;

#endif

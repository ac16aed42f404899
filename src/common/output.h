/*
 * output.h: a file that appears under its name only when it is complete.
 *
 * What is written goes to a file without a name in the same folder; output_commit syncs it, gives it
 * one, and renames it, so that a crash, a full disk or a signal leaves either the old file or the new
 * one, never half of one, and nothing beside them. Where the file system has no files without names,
 * it has a temporary one from the start, which a signal leaves behind. Things that are not ordinary
 * files (a pipe, /dev/null, a terminal) are written directly, because renaming over them would replace
 * them.
 */
#ifndef TRUEFLAME_OUTPUT_H
#define TRUEFLAME_OUTPUT_H

#include "common/error.h"
#include <stdio.h>

struct output {
    FILE *stream;
    char *path;           /* what the user named; "standard output" where that is meant */
    char *final_path;     /* `path` with symbolic links followed; NULL: written directly */
    char *temporary_path; /* NULL: it has no name yet */
};

/* `path` NULL or "-" is standard output. */
int output_open(struct output *output, const char *path, struct error *error);

/* Exactly one of these ends an output that was opened. Commit fails when any write since
 * output_open failed; the temporary file is gone then. */
int output_commit(struct output *output, struct error *error);
void output_discard(struct output *output);

#endif

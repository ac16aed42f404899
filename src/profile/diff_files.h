/*
 * diff_files.h: which source file of one profile is which of another.
 */
#ifndef TRUEFLAME_DIFF_FILES_H
#define TRUEFLAME_DIFF_FILES_H

#include "profile/view.h"

struct diff_files;

/* Pairs the files that only `base` has with those that only `new` has. To be freed with
 * diff_files_free; needs neither view any more. */
struct diff_files *diff_files_pair(const struct view *base, const struct view *new);
void diff_files_free(struct diff_files *files);

/* The name of a frame of `base` as it is in `new`: with the other path, where it has one of a pair.
 * To be freed. */
char *diff_files_name(const struct diff_files *files, const struct view_frame *frame);

#endif

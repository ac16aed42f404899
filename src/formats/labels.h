/*
 * labels.h: how frames are written, for the formats that know frames by a text alone.
 */
#ifndef TRUEFLAME_LABELS_H
#define TRUEFLAME_LABELS_H

#include "formats/formats.h"

struct labels {
    char **texts; /* by frame of the view */
    size_t count;
};

/*
 *   FRAMES_NAME  malloc
 *   FRAMES_FULL  malloc (/lib/libc.so.6), or malloc (/lib/libc.so.6+0x9d0a0) where the object has
 *                two functions of that name
 *   FRAMES_RAW   /lib/libc.so.6+0x9d0a0
 * What has no address (Python functions, markers, threads) is its name in every style.
 */
void labels_make(struct labels *labels, const struct view *view, enum frames_style style);
void labels_free(struct labels *labels);

#endif

/*
 * gzip.h: gzip as a stream to a file, and gzip in memory back to plain bytes. The header carries no
 * time, so the same input gives the same bytes.
 */
#ifndef TRUEFLAME_GZIP_H
#define TRUEFLAME_GZIP_H

#include "common/file.h"

#include <stdio.h>
#include <zlib.h>

struct gzip {
    z_stream state;
    FILE *stream;
};

void gzip_start(struct gzip *gzip, FILE *stream);
void gzip_write(struct gzip *gzip, const void *bytes, size_t count);
void gzip_finish(struct gzip *gzip);

/* Unpacks into `plain`, to be freed with file_free. ERROR when it is not gzip, or would pass
 * `most_bytes`. */
int gzip_unpack(const uint8_t *bytes, size_t count, size_t most_bytes, struct file_bytes *plain);

#endif

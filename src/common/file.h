/*
 * file.h: a whole file in memory, for readers that look at it more than once.
 */
#ifndef TRUEFLAME_FILE_H
#define TRUEFLAME_FILE_H

#include "common/error.h"
#include <stddef.h>
#include <stdint.h>

struct file_bytes {
    uint8_t *bytes; /* size_bytes of them, and a 0 after the last */
    size_t size_bytes;
};

/* Reads all of `path`, which may be a pipe; "-" is standard input. */
int file_read(struct file_bytes *file, const char *path, struct error *error);
/* The same for a path that is not the user's own: only an ordinary file of at most `largest_bytes`.
 * What a profile names as its source may be a device that never ends. */
int file_read_ordinary(struct file_bytes *file, const char *path, size_t largest_bytes,
                       struct error *error);
void file_free(struct file_bytes *file);

/* A large file that nobody makes shorter meanwhile, and that is not empty: read where it is. Without the
 * 0 behind it. */
int file_map(struct file_bytes *file, const char *path, struct error *error);
void file_unmap(struct file_bytes *file);

#endif

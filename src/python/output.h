/*
 * output.h: a file in a place anybody may write to, that the profiled program must not notice.
 *
 * The descriptor is kept, because a program may change user or root directory after it started; it
 * is kept out of the low numbers, which programs count on; and it is checked before every write,
 * because a daemon closes every descriptor it finds and may then be given the same number for a
 * file of its own. One record is one write.
 */
#ifndef TRUEFLAME_PYTHON_OUTPUT_H
#define TRUEFLAME_PYTHON_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/error.h"

struct output {
    int descriptor; /* -1: not open */
    dev_t device;
    ino_t inode;
    uint64_t end; /* where our last write ended: what a forked child may copy */
    char path[4096];
};

#define OUTPUT_CLOSED                                                                              \
    {                                                                                              \
        .descriptor = -1                                                                           \
    }

/* Creates `path` for this user alone; fails when anything, a symbolic link included, is there. */
int output_create(struct output *output, const char *path, struct error *error);

/* The same, but what is there and older than this process (a process long gone had our number) is
 * replaced, and what is younger and ours (another writer in this process) is added to. */
int output_create_or_join(struct output *output, const char *path, struct error *error);

/* Appends all of it or nothing. */
int output_append(struct output *output, const struct iovec *pieces, int count,
                  struct error *error);

/* Appends to `output` what `from` held when its last write ended. */
int output_copy(struct output *output, struct output *from, struct error *error);

void output_close(struct output *output);

#endif

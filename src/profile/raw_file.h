/*
 * raw_file.h: the raw files of a run, their heads read and their processes in order; and the
 * words of a raw file. Used by raw.c, which reads the tables.
 */
#ifndef TRUEFLAME_PROFILE_RAW_FILE_H
#define TRUEFLAME_PROFILE_RAW_FILE_H

#include "common/error.h"
#include "common/file.h"
#include "core/number.h"
#include "core/raw.h"
#include "profile/varint.h"

#include <stdbool.h>
#include <stddef.h>

/* Words are read past a damaged end as zeros; `damaged` is looked at after each table. */
struct cursor {
    const uint8_t *at, *end;
    bool damaged;
};

uint64_t take(struct cursor *cursor);

static inline uint64_t take_number(struct cursor *cursor)
{
    return varint_read(&cursor->at, cursor->end, &cursor->damaged);
}

static inline int64_t take_signed(struct cursor *cursor)
{
    return number_to_signed(take_number(cursor));
}

/* Bytes of the file itself, after a word that counts them. */
const uint8_t *take_bytes(struct cursor *cursor, uint64_t *size_bytes);
/* A copy, to be freed. */
char *take_text(struct cursor *cursor);
/* A count of rows of at least `row_bytes` each: more than the file can hold is damage. */
uint64_t take_count(struct cursor *cursor, uint64_t row_bytes);
/* A reference to a row of a table of `count` rows; NONE when damaged. */
uint32_t take_row(struct cursor *cursor, uint64_t count);

struct raw_file {
    struct file_bytes file;
    struct cursor cursor; /* after the head */
    struct raw_process process;
    uint64_t detail, folded, unrecorded;
    char *engine, *command;
    uint32_t number; /* of the process: its place in the tree of processes */
    struct raw_file *parent;
};

struct raw_files {
    struct raw_file **files; /* parents before children, depth first */
    size_t count, capacity;
    size_t lost; /* processes that did not get to write all: a full disk, or killed meanwhile */
};

/* Every raw file in `folder`. ERROR if there is none, or one is no raw file; raw_files_free is to
 * be called all the same. */
int raw_files_read(struct raw_files *raws, const char *folder, struct error *error);
void raw_files_free(struct raw_files *raws);

/* Is this the name of a file in such a folder that a process is still writing? */
bool raw_is_being_written(const char *name);

#endif

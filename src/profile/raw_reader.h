/*
 * raw_reader.h: between the two halves of the reader of raw files.
 *
 * raw_code.c reads what is said about code: modules, functions, call sites and blocks, which the
 * processes of a run share. raw.c reads what a process did with it: contexts, counts, parts.
 */
#ifndef TRUEFLAME_PROFILE_RAW_READER_H
#define TRUEFLAME_PROFILE_RAW_READER_H

#include "common/map.h"
#include "profile/profile.h"
#include "profile/raw_file.h"

struct code_maps {
    struct map functions, sites, blocks;
};

/* A line that code from `address` on is of. */
struct raw_line {
    uint64_t address;
    uint32_t line, file;
    uint32_t location; /* NONE until a block needs it */
};

/* The one function of a module of the file that is a JIT function's, and its lines. */
struct raw_jit {
    uint32_t function;
    size_t first_line, line_count;
};

/* The counts of a file that is read but for them: they are millions of rows, and go each to its place
 * once it is known which contexts there will be. */
struct raw_counts {
    struct cursor cursor;
    uint64_t left;           /* rows */
    uint64_t context, block; /* of the last row's last block */
    uint64_t first_context, context_count, block_count;
    uint32_t *blocks; /* the profile's, by the file's numbers */
};

struct reader {
    struct profile *profile;
    struct raw_counts *counts; /* of each file */
    size_t counts_count, counts_capacity;
    uint32_t *row_counts; /* by context: how many blocks its rows of counts are for */
    size_t row_counts_count, row_counts_capacity;
    struct raw_jit *jit;    /* by module of the file that is being read */
    struct raw_line *lines; /* of the same file */
    size_t line_count, line_capacity;
    struct map modules;     /* (path, build id) -> module */
    struct map chains;      /* (site, next site) -> chained site */
    struct map first_parts; /* (name, label) -> the first part of that name and label */
    struct map parts;       /* (first part, how many came between) -> part */
    struct code_maps *code; /* of each module */
    size_t code_capacity;
    char **skips;
    size_t skip_count, skip_capacity;
    char **notes;
    size_t note_count, note_capacity;
};

/* Reads one row; `modules` are the profile's, by the file's numbers. Returns the profile's row, the
 * same for the same thing in another file. */
typedef uint32_t raw_read_row(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                              uint64_t module_count);

raw_read_row raw_read_module, raw_read_function, raw_read_site, raw_read_block;

uint32_t raw_intern_taken(struct profile *profile, struct cursor *cursor);

#endif

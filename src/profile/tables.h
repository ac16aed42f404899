/*
 * tables.h: what the columns of every table are, said once.
 *
 * The writer, the reader and the checker of a profile are loops over these descriptions; adding a
 * column to the format is adding a line in tables.c (and in docs/format.md).
 */
#ifndef TRUEFLAME_TABLES_H
#define TRUEFLAME_TABLES_H

#include "profile/profile.h"

/* Also the section numbers of the .flame file, in file order. */
enum table_id {
    TABLE_META = 1,
    TABLE_RUN,     /* pids, date, host: not described by columns */
    TABLE_STRINGS, /* not described by columns */
    TABLE_MODULES,
    TABLE_FUNCTIONS,
    TABLE_LOCATIONS,
    TABLE_LOCATION_FRAMES,
    TABLE_SITES,
    TABLE_CONTEXTS,
    TABLE_BLOCKS,
    TABLE_INSTRUCTION_LENGTHS,
    TABLE_PIECES,
    TABLE_COUNTS,
    TABLE_LINES,
    TABLE_PROCESSES,
    TABLE_THREADS,
    TABLE_PARTS,
    TABLE_ROOTS,
    TABLE_REPAIRS,
    TABLE_END,
};

/* How a column's values become varints. */
enum coding {
    CODING_PLAIN,    /* the value */
    CODING_OPTIONAL, /* 0 for NONE, else the value plus 1 */
    CODING_BACK,     /* a row of the same table before this one: 0 for NONE, else the distance */
    CODING_DELTA,    /* zigzag of the difference from the row before, modulo 2^64 */
    CODING_SIGNED,   /* zigzag */
};

struct column {
    const char *name;
    size_t offset; /* in the row */
    uint8_t size_bytes;
    uint8_t coding; /* enum coding */
    uint8_t refers; /* enum table_id whose rows the value numbers; 0: a plain number */
    uint8_t limit;  /* of an enumeration: how many values there are; 0: no limit */
};

struct table {
    const char *name; /* NULL: not described by columns */
    size_t row_bytes;
    size_t rows_offset, count_offset, capacity_offset; /* in struct profile */
    bool single;                                       /* one row, inside struct profile itself */
    const struct column *columns;
    size_t column_count;
};

/* Indexed by enum table_id. */
extern const struct table profile_tables[TABLE_END];

/* The first row of a table, and how many there are. */
void *table_rows(const struct profile *profile, const struct table *table);
size_t table_row_count(const struct profile *profile, const struct table *table);

/* Makes room for `count` zeroed rows in an empty table and returns them. */
void *table_allocate(struct profile *profile, const struct table *table, size_t count);

/* The value of a column in the row at `row`, widened; signed ones keep their bits. */
uint64_t column_load(const struct column *column, const void *row);
/* Those of `count` rows, which are so many bytes each. */
void column_load_rows(const struct column *column, const void *rows, size_t row_bytes, size_t count,
                      uint64_t *values);
void column_store(const struct column *column, void *row, uint64_t value);

#endif

/*
 * go_functions.h: the functions of a Go program by the table that its own runtime unwinds with, which is
 * there when symbols are not. Go 1.18 and later.
 */
#ifndef TRUEFLAME_CORE_GO_FUNCTIONS_H
#define TRUEFLAME_CORE_GO_FUNCTIONS_H

#include "core/elf_image.h"

struct go_table {
    const uint8_t *bytes;
    size_t size_bytes;
    uint64_t text; /* what addresses are counted from */
    uint64_t count;
    uint64_t names, names_end, functions; /* offsets */
};

struct go_function {
    uint64_t start, end; /* addresses as in the file */
    const char *name;    /* in the image */
};

/* False: the file has no such table, or one that makes no sense. */
bool go_table_find(struct go_table *table, const struct image *image);

/* The function with a number below table->count. False: what is said of it makes no sense. */
bool go_table_read(const struct go_table *table, uint64_t number, struct go_function *function);

#endif

/*
 * map_writer.h: /tmp/perf-PID.map, the table of names that perf and others look for.
 *
 * One line a function: address and size in hexadecimal without prefix, and the name, which is the
 * rest of the line. The format knows no time: an address that got a second name would have two
 * lines, and a reader could only guess. Who writes a map therefore never uses a slot again.
 */
#ifndef TRUEFLAME_PYTHON_MAP_WRITER_H
#define TRUEFLAME_PYTHON_MAP_WRITER_H

#include <stddef.h>

#include "common/error.h"

/* Opens the map of this process. */
int map_writer_open(struct error *error);

int map_writer_add(const void *address, size_t size_bytes, const char *name, size_t name_length,
                   struct error *error);

/* In a forked child: opens the child's own map and copies the names known when it was born, since
 * its stacks run the parent's trampolines. */
int map_writer_after_fork(struct error *error);

/* Where the map is; "" when there is none. */
const char *map_writer_path(void);

#endif

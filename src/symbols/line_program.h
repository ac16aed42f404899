/*
 * line_program.h: runs one line-number program of .debug_line.
 */
#ifndef TRUEFLAME_LINE_PROGRAM_H
#define TRUEFLAME_LINE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code in [start, end) comes from `line` of file number `file` (as the program's own table counts
 * them). `sequence_start` is where the run of rows begins that it is part of. Returning false
 * stops the program. */
typedef bool line_program_span(void *opaque, uint64_t sequence_start, uint64_t start, uint64_t end,
                               uint64_t file, uint64_t line);

/* Runs the program at `offset` of a little-endian .debug_line, versions 2 to 5. Returns 0, or -1
 * when it is damaged or `span` stopped it. */
int line_program_run(const uint8_t *section, size_t section_bytes, uint64_t offset,
                     line_program_span *span, void *opaque);

#endif

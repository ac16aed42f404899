/*
 * jitdump_writer.h: jit-PID.dump, which says when each address got its name and how to unwind it.
 *
 * What the map cannot do, this does: every record has a time, so an address may be used again; and
 * every function comes with unwind tables, so `perf record --call-graph dwarf` walks through
 * trampolines on interpreters built without frame pointers. For each function three records are
 * written at once: unwind tables, the line where the function is defined, and the code itself.
 *
 * perf learns where the file is by seeing its first page mapped executable. It lies in a directory
 * of its own, which only this user can write to, because `perf inject -j` leaves one file beside it
 * for every function. Times are CLOCK_MONOTONIC: `perf record -k 1`.
 */
#ifndef TRUEFLAME_PYTHON_JITDUMP_WRITER_H
#define TRUEFLAME_PYTHON_JITDUMP_WRITER_H

#include <stddef.h>

#include "common/error.h"
#include "python/template.h"

/* The tables of one trampoline: .eh_frame with its terminator, then .eh_frame_hdr. */
#define JITDUMP_EH_FRAME_BYTES (TEMPLATE_EH_FRAME_SIZE + 4)
#define JITDUMP_HEADER_BYTES   20
#define JITDUMP_UNWIND_BYTES   (JITDUMP_EH_FRAME_BYTES + JITDUMP_HEADER_BYTES)

/* What perf takes a function to occupy: its code, its tables behind it. */
#define JITDUMP_CODE_BYTES   ((TEMPLATE_CODE_SIZE + 7) / 8 * 8)
#define JITDUMP_TABLE_BYTES  ((JITDUMP_UNWIND_BYTES + 15) / 16 * 16)
#define JITDUMP_MAPPED_BYTES (JITDUMP_CODE_BYTES + JITDUMP_TABLE_BYTES)

/* Opens the dump of this process in TRUEFLAME_JITDUMP_DIR, or in /tmp. */
int jitdump_writer_open(struct error *error);

int jitdump_writer_add(const void *address, const char *name, size_t name_length, const char *file,
                       unsigned line, struct error *error);

/* In a forked child: begins a dump of its own beside the parent's. Inherited functions are not
 * written again: perf gives a child its parent's mappings, jitted ones too. */
int jitdump_writer_after_fork(struct error *error);

/* Where the dump is; "" when there is none. */
const char *jitdump_writer_path(void);

#endif

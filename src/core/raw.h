/*
 * raw.h: what an engine leaves behind for each process: addresses only, no names.
 *
 * A raw file lives for the length of a run, between an engine and `record` on one machine, so it
 * is as plain as can be: 64-bit little-endian words; a text is its length and its bytes. But the two
 * tables with a row for each path, and for each path and block, are a hundred times larger than the
 * others: there, numbers take as few bytes as they can, with seven bits in each, the lowest first;
 * all but the last byte have the eighth set. That is a fifth of what words take.
 *
 *   RAW_MAGIC
 *   process   pid, image, parent pid, parent image, fork ordinal, started by, detail, ending,
 *             exit status, folded contexts, unrecorded instructions, text engine, text command
 *   modules   count, { kind, text path, text build id }
 *   functions count, { module, flags, start, end, line, text name, text file,
 *             lines: count, { address, line, text file } }       JIT functions only
 *   sites     count, { module, address in the module }
 *   parts     count, { text name, text label }
 *   threads   count, { number }
 *   roots     count, { context, thread, part }
 *   contexts  count, { numbers: how many rows before it its parent is, 0 if it has none; function;
 *             site + 1, 0 if it has none; calls; self instructions; how many blocks its rows of
 *             counts are for }                                                  parents first
 *   pairs     count, { context, site }      further sites of contexts that have several
 *   blocks    count, { module, address in the module, instructions, text lengths }
 *   repairs   count, { text kind, count }
 *   skips     count, { text pattern }
 *   notes     count, { text }               what the user should be told
 *   counts    count, { numbers: four times the step to the block, and one more if the context is
 *             another than that of the row before, and two if the row is for several blocks, which
 *             follow each other; then the step to that context; count, of each; how many blocks it is
 *             for beside the first, less than RAW_RUN_MOST }
 *                                           several rows for a pair add up; none counts nothing
 *   RAW_END
 *
 * Rows are referred to by their place, from 0. A step is from the row before, or its last block, in the
 * first row from 0: twice that, or for -1, -2 and so on 1, 3.
 */
#ifndef TRUEFLAME_CORE_RAW_H
#define TRUEFLAME_CORE_RAW_H

#include <stdint.h>

#define RAW_MAGIC 0x3157415246545254u
#define RAW_END   0x21444e4557415246u

#define RAW_RUN_MOST 128 /* blocks that one row of counts is for */

enum raw_start { RAW_FIRST, RAW_FORK, RAW_EXEC };
enum raw_ending { RAW_EXIT, RAW_BUDGET, RAW_CHECKPOINT, RAW_KILLED };

/* What only the engine knows of its process. */
struct raw_process {
    uint64_t pid;
    uint64_t image; /* how many raw files of this pid there were before: it called exec */
    uint64_t parent_pid, parent_image; /* who forked it */
    uint64_t fork_ordinal;             /* 1 for the parent's first child */
    uint64_t started_by;               /* enum raw_start */
    uint64_t ending;                   /* enum raw_ending */
    uint64_t exit_status;
    const char *engine;
    const char *command; /* arguments joined by spaces */
};

struct raw_sink {
    void (*write)(struct raw_sink *sink, const void *bytes, uint64_t size_bytes);
};

struct core;

/* Writes everything that was recorded so far. The core goes on as before. */
void raw_write(struct core *core, const struct raw_process *process, struct raw_sink *sink);

#endif

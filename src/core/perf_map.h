/*
 * perf_map.h: reads /tmp/perf-PID.map, in which a program that makes code says what it is called.
 *
 * A line is `START SIZE NAME`: two hexadecimal numbers and the rest of the line. Writers differ
 * (OpenJDK and Ruby's ZJIT put 0x before the numbers, names hold spaces, a killed program ends in
 * mid-line), so everything that can be meant is taken, and what cannot is counted and left out.
 *
 * The file knows no time, but it only grows, and its order is the order in which code was made.
 * Read as the program runs, each entry is newer than everything that was executed before it was
 * read; an entry whose range overlaps an older one's replaces it from then on. What this costs: a
 * read of what is new, never of the whole file; and no more memory than the longest name, whatever
 * the file holds.
 */
#ifndef TRUEFLAME_PERF_MAP_H
#define TRUEFLAME_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_LONGEST_NAME_BYTES 8192

struct perf_map_entry {
    uint64_t start, size_bytes; /* size_bytes > 0, and the end does not wrap around */
    const char *name;           /* not terminated; valid during the call it is given to */
    size_t name_length;         /* > 0; at most PERF_MAP_LONGEST_NAME_BYTES */
    bool name_cut;              /* it was longer */
};

/* One line, without its newline. False when it is not an entry. */
bool perf_map_parse_line(const char *line, size_t length, struct perf_map_entry *entry);

typedef void perf_map_receiver(void *context, const struct perf_map_entry *entry);

/* Cuts a stream of bytes, which may stop anywhere, into lines. Zeroed, it is ready for use. */
struct perf_map_parser {
    uint64_t entries, bad_lines, cut_names;
    size_t held;     /* bytes of an unfinished line in `line` */
    bool overflowed; /* the unfinished line is longer than `line`; the rest of it is left out */
    char line[PERF_MAP_LONGEST_NAME_BYTES + 64];
};

/* Gives `receiver` the entries of all lines that end within `bytes`, in order. */
void perf_map_feed(struct perf_map_parser *parser, const char *bytes, size_t length,
                   perf_map_receiver *receiver, void *context);

/* The stream ends: a last line without a newline counts. */
void perf_map_finish(struct perf_map_parser *parser, perf_map_receiver *receiver, void *context);

/* A map that is being written by a running program. */
struct perf_map_file {
    const char *path; /* the caller's, for as long as the file is in use */
    uint32_t owner;
    bool known; /* there is a file, this one: */
    uint64_t device, inode;
    uint64_t offset; /* how far it was read */
    struct perf_map_parser parser;
};

/* `owner` is the user the program runs as: a file of anybody else, root apart, is not believed.
 * What is there already is left out: a process long gone that had the same number may have left
 * it, and a writer may append to it. The file need not exist yet. */
void perf_map_open(struct perf_map_file *file, const char *path, uint32_t owner);

/* Reads what was written since the last time. A file that was made anew, or cut, is read from its
 * beginning. NULL when that is done, or there is no file yet; else why it must not be read, to be
 * put behind its path: a symbolic link, a pipe, another user's file. */
const char *perf_map_read(struct perf_map_file *file, perf_map_receiver *receiver, void *context);

/* The program is over: reads the rest, the unfinished last line too. */
const char *perf_map_close(struct perf_map_file *file, perf_map_receiver *receiver, void *context);

#endif

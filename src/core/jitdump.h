/*
 * jitdump.h: reads jit-PID.dump, in which a program that makes code tells all about it.
 *
 * Where a perf map has names, a jitdump has records with times: code that was made, with its bytes
 * and its name; code that moved; which lines it came from; how to unwind it. An address may be used
 * as often as the program likes, each time is its own record.
 *
 * The reader works on bytes in memory that the caller owns, and what it gives out points into them.
 * Nothing in the bytes is believed before it was checked. A record that contradicts itself is left
 * out and counted; one whose end is not there yet is read when it is, so a file can be read while
 * it grows: give jitdump_extend() the longer bytes and go on.
 */
#ifndef TRUEFLAME_JITDUMP_H
#define TRUEFLAME_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jitdump_kind {
    JITDUMP_LOAD = 0,
    JITDUMP_MOVE = 1,
    JITDUMP_LINES = 2, /* about the LOAD that follows, for the same address */
    JITDUMP_CLOSE = 3,
    JITDUMP_UNWIND = 4, /* about the LOAD that follows */
};

struct jitdump_load {
    uint32_t pid, tid;
    uint64_t virtual_address, code_address, code_bytes, code_index;
    const char *name;    /* terminated */
    const uint8_t *code; /* code_bytes of it */
};

struct jitdump_move {
    uint32_t pid, tid;
    uint64_t virtual_address, old_address, new_address, code_bytes, code_index;
};

/* Lines are taken one by one with jitdump_next_line(). */
struct jitdump_lines {
    uint64_t code_address, left;
    const uint8_t *at, *end;
    const char *file; /* of the line before, for entries that repeat it */
    bool swapped;
};

struct jitdump_unwind {
    uint64_t eh_frame_bytes, eh_frame_hdr_bytes, mapped_bytes;
    const uint8_t *eh_frame; /* eh_frame_hdr_bytes of header follow its eh_frame_bytes */
};

struct jitdump_record {
    enum jitdump_kind kind;
    uint64_t time; /* nanoseconds of CLOCK_MONOTONIC, unless the header says otherwise */
    union {
        struct jitdump_load load;
        struct jitdump_move move;
        struct jitdump_lines lines;
        struct jitdump_unwind unwind;
    };
};

struct jitdump_reader {
    const uint8_t *bytes;
    size_t length, position;
    bool swapped;        /* written on a machine of the other byte order */
    bool processor_time; /* times are the processor's own ticks */
    uint32_t elf_machine, pid;
    uint32_t padding; /* of the header, which V8 signs */
    uint64_t time;    /* when the file was begun */
    uint64_t bad_records, unknown_records;
    bool lost; /* a record was too short to be one: where the next begins is not known */
};

#define JITDUMP_HEADER_BYTES 40

/* Reads the file's header. NULL when that is done, else what is wrong, to be put behind the file's
 * path: this is no jitdump, or shorter than one, as a file that was just created may be. */
const char *jitdump_open(struct jitdump_reader *reader, const void *bytes, size_t length);

/* The same file, grown; `bytes` may lie elsewhere now. */
void jitdump_extend(struct jitdump_reader *reader, const void *bytes, size_t length);

/* The next record that can be understood. False at the end, or where the rest is not there yet. */
bool jitdump_next(struct jitdump_reader *reader, struct jitdump_record *record);

struct jitdump_line {
    uint64_t address;
    uint32_t line, discriminator;
    const char *file; /* terminated */
};

bool jitdump_next_line(struct jitdump_lines *lines, struct jitdump_line *line);

#endif

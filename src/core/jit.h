/*
 * jit.h: the names of code that the program makes while it runs.
 *
 * Such a program says what its code is called in one of two files, as it goes: a perf map
 * (/tmp/perf-PID.map, core/perf_map.h) or a jitdump (jit-PID.dump, core/jitdump.h). Both are read
 * while it runs, in the order in which they are written, so that an address that is used twice has
 * the right name each time: where an entry covers code that was translated before, those blocks
 * are translated anew and belong to another function from then on.
 *
 *   program   write(map, "A 40 f")   runs f   ...   write(map, "A 40 g")   runs g
 *   jit                read: f=[A,A+40)                    read: g replaces f, blocks of f go
 *   blocks                        of f                                  of g
 *
 * When is it read? After each system call that may have written, once such a file is known to be
 * there, and before unnamed code is translated.
 *
 * Some entries come late: a writer may buffer its file, or write it all at its end. Unnamed code is
 * therefore remembered by its address and the time when it was first seen, and gets the name that
 * was valid then when the raw file is written (jit_late.c). An entry's time is what its jitdump
 * says, or when it was read in a map.
 *
 * Entries are found by page, newest first: the newest one that covers an address has it. One that
 * covers more than JIT_LARGE_BYTES, which no compiler makes, is in a list of its own.
 *
 * Assumes: ten thousand entries, some of them hostile; a lookup for each block of anonymous code
 * that is translated.
 */
#ifndef TRUEFLAME_CORE_JIT_H
#define TRUEFLAME_CORE_JIT_H

#include "core/code.h"
#include "core/hotspot.h"
#include "core/jitdump.h"
#include "core/perf_map.h"

/* Which source line the code from an address on is of. Sorted by address. */
struct jit_line {
    uint64_t address;
    uint32_t line;
    const char *file;
};

struct jit_lines {
    uint32_t count;
    struct jit_line items[];
};

struct jit_entry {
    uint64_t start, end;
    uint64_t time;                  /* when it began to hold, platform_clock */
    const char *name;               /* NULL: the code is gone */
    struct code_function *function; /* NULL until code of it is seen */
    const struct jit_lines *lines;  /* NULL for none */
};

/* An entry in a list of the entries that cover a page, newest first. */
struct jit_node {
    struct jit_entry *entry;
    struct jit_node *next;
};

struct jit_page {
    uint64_t page; /* address / JIT_PAGE_BYTES, plus 1; 0: an empty slot */
    struct jit_node *entries;
    uint64_t translated[4]; /* a bit for each 16 bytes of it in which a block begins */
};

#define JIT_PAGE_BYTES  4096u
#define JIT_LARGE_BYTES (16u * JIT_PAGE_BYTES)

/* What a block of unnamed code looked like. */
struct jit_block {
    uint64_t address; /* 0: an empty slot */
    uint64_t glance;  /* hash of its bytes */
    uint64_t time;    /* when it was first seen to be so */
};

struct jit_dump {
    const char *path;
    uint64_t device, inode;
    uint64_t offset; /* of what is in `bytes`, in the file */
    bool open;       /* its header was read */
    bool refused;    /* it is not what it should be, and that was said */
    bool delayed;    /* comes in pieces that end anywhere: what it says may be old news */
    struct jitdump_reader reader;
    uint8_t *bytes; /* read, but the record is not complete */
    size_t length, capacity;
    struct jit_lines *lines; /* for the next LOAD */
    uint64_t lines_address;
    struct jit_dump *next;
};

struct core;

struct jit {
    struct core *core;
    uint64_t began; /* when the process did, platform_clock */
    char map_path[40];
    struct perf_map_file *map;
    bool active; /* the program writes such a file: look after each write */
    struct jit_dump *dumps;
    struct hotspot *hotspot;    /* Java's virtual machine, if it is here */
    struct jit_entry **entries; /* in order of arrival */
    size_t entry_count, entry_capacity;
    struct jit_page *pages; /* hash */
    size_t page_count, page_capacity;
    struct jit_node *large;
    struct jit_block *blocks; /* hash */
    size_t block_count, block_capacity;
};

void jit_init(struct jit *jit, struct core *core);

/* In the child of a fork: names of inherited code stay, new ones come from a file of its own. */
void jit_forked(struct jit *jit);

/* The program did a system call of Linux on x86-64; `result` is what the kernel said. */
void jit_system_call(struct jit *jit, uint64_t number, const uint64_t *arguments, int64_t result);

/* True if jit_system_call has any interest in this one. */
static inline bool jit_wants_call(const struct jit *jit, uint64_t number)
{
    /* read 0, write 1, open 2, close 3, pwrite64 18, writev 20, creat 85, openat 257,
     * pwritev 296, openat2 437 */
    if (number == 2 || number == 85 || number == 257 || number == 437)
        return true;
    return jit->active &&
           (number == 1 || number == 3 || number == 18 || number == 20 || number == 296);
}

/* A file was mapped as code that is a jitdump by its name: the mapping is how its writer makes it
 * known. */
void jit_dump_mapped(struct jit *jit, const char *path);
bool jit_is_dump(const char *path);

/* Reads what is new. */
void jit_look(struct jit *jit);

/* The same, before code at `address` is looked for that may never have run. */
void jit_look_for(struct jit *jit, uint64_t address);

/* Code in [start, end) is gone. */
void jit_remove(struct jit *jit, uint64_t start, uint64_t end);

/* The function whose code is at `address`, by the newest entry; NULL if none has it. */
struct code_function *jit_find(struct jit *jit, uint64_t address);

/* A block of anonymous code that begins at `address` is being translated. With bytes, which are
 * those of a block that has no name: true if others were there before. */
void jit_translated(struct jit *jit, uint64_t address);
bool jit_unnamed_changed(struct jit *jit, uint64_t address, const uint8_t *bytes, size_t count);

/* When the unnamed block at `address` was first seen as it is; 0: not known. */
uint64_t jit_block_since(const struct jit *jit, uint64_t address);

/* jit_late.c: reads the rest, and gives the anonymous functions and blocks of the core that have
 * no name the one that was valid when they were first seen (code_function.named). */
void jit_name_late(struct jit *jit);

/* As jit_look, with what a last line lacks its end. */
void jit_look_last(struct jit *jit);

/* The index by itself: the entry that was added last of those that cover the address. */
void jit_index_add(struct jit *jit, struct jit_entry *entry);
struct jit_entry *jit_index_find(const struct jit *jit, uint64_t address);

/* The function of the entry. */
struct code_function *jit_function_of(struct jit_entry *entry);

/* An entry that holds from `time` on; `live`: and is known in time. */
void jit_add(struct jit *jit, uint64_t start, uint64_t end, const char *name, size_t name_length,
             uint64_t time, const struct jit_lines *lines, bool live);

#endif

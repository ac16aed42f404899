/*
 * profile.h: a profile in memory, table by table as the .flame file holds it.
 *
 *   strings    every text, interned; id 0 is ""
 *   modules    a file mapped as code, or a stand-in: anonymous memory, markers
 *   functions  what contexts are made of: known by module and start address
 *   locations  a code address explained: the chain of inlined functions with lines
 *   sites      call instructions, each with its location
 *   contexts   the tree: (parent, site, function), parents first, with calls and self counts
 *   blocks     straight-line code, cut into pieces of one location each
 *   counts     how often a context ran a block, sparse, sorted by context (line detail only)
 *   processes, threads, parts, repairs
 *
 * Addresses are relative to the module: the address in the ELF file (st_value), so that two runs
 * at other load addresses give the same profile. For anonymous memory they are absolute.
 *
 * Invariants (profile_check tests them all): every index is in range; a context's parent has a
 * smaller index; roots have parent NONE and a row in `roots`; at line detail a context's
 * self_instructions is the sum of its counts times the blocks' instructions, and not less than the
 * sum of its lines.
 *
 * Ownership: the profile owns everything reachable from it; profile_free releases it. Strings
 * live until then.
 */
#ifndef TRUEFLAME_PROFILE_H
#define TRUEFLAME_PROFILE_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NONE UINT32_MAX

enum module_kind {
    MODULE_FILE,   /* an ELF file; addresses are those of the file */
    MODULE_ANON,   /* code in memory that has no file */
    MODULE_MARKER, /* no code at all: roots, signals, (skipped), ecalls, labels */
    MODULE_PYTHON, /* Python source: functions are code objects, start is the first line */
    MODULE_JIT,    /* anonymous code that a perf map or a jitdump named */
};

/* How much a module's file could tell; `info` says it, with what would help. */
enum module_symbols {
    SYMBOLS_UNKNOWN, /* not looked at: recorded with --raw */
    SYMBOLS_NONE,
    SYMBOLS_DYNAMIC, /* .dynsym only */
    SYMBOLS_TABLE,   /* .symtab, here or in a debug file */
    SYMBOLS_DEBUG,   /* lines and inlined functions */
};

struct module {
    uint32_t path;     /* string */
    uint32_t build_id; /* string, hex, "" where there is none */
    uint32_t note;   /* string: why there are no better symbols, "" when there is nothing to say */
    uint8_t kind;    /* enum module_kind */
    uint8_t symbols; /* enum module_symbols */
};

enum function_kind {
    FUNCTION_NATIVE,
    FUNCTION_ANON,
    FUNCTION_PYTHON,
    FUNCTION_JIT,
    FUNCTION_ROOT,   /* a thread's root; never shown */
    FUNCTION_MARKER, /* (signal 11), (skipped), ecall:NAME */
};

struct function {
    uint32_t module;
    uint8_t kind;         /* enum function_kind */
    uint8_t only_inlined; /* has no code of its own here: start and size are 0 */
    uint32_t name;        /* string, demangled, as shown */
    uint32_t symbol;      /* string as in the symbol table, "" where there is none */
    uint32_t file;        /* string: source file, "" unknown */
    uint32_t line;        /* where it is declared, 0 unknown */
    uint64_t start;       /* address in the module */
    uint64_t size;        /* bytes, 0 unknown */
};

/* One function in a chain of inlined ones, with the line that is executing in it. */
struct location_frame {
    uint32_t function;
    uint32_t file; /* string */
    uint32_t line; /* 0 unknown */
};

/* Frames of location i are location_frames[locations[i].first ...], outermost first; the first
 * one is the function that has the code. A location without frames: the address says nothing
 * beyond the function it is in. */
struct location {
    uint32_t first;
    uint32_t count;
};

/* A call instruction. Where one context stands for the calls of several, the rows are chained;
 * the first row's location is then what the inline chains of all have in common. */
struct site {
    uint32_t module;
    uint32_t location; /* NONE: not symbolized */
    uint32_t next;     /* site, an earlier row; NONE: the last, or the only one */
    uint64_t address;  /* of the call instruction */
};

struct context {
    uint32_t parent; /* context, NONE for a root */
    uint32_t function;
    uint32_t site; /* NONE: no call instruction (roots, signals, tail calls into the void) */
    uint64_t calls;
    uint64_t self_instructions;
};

struct block {
    uint32_t module;
    uint32_t instructions;
    uint32_t first_piece;  /* pieces[first_piece ... + piece_count] */
    uint32_t piece_count;  /* 0: not symbolized */
    uint32_t first_length; /* instruction_lengths[first_length ... + instructions] */
    uint64_t address;
};

/* Consecutive instructions of a block that share one location. */
struct piece {
    uint32_t location;
    uint32_t instructions;
};

struct block_count {
    uint32_t context;
    uint32_t block;
    uint64_t count;
};

/* Python lines, at line detail: instructions of the context, which is a Python function's or a native
 * one's below it, that ran while this line of the Python function was executing. */
struct line_count {
    uint32_t context;
    uint32_t line;
    uint64_t instructions;
};

struct process {
    uint32_t parent;     /* process, NONE for the first */
    uint32_t command;    /* string: the command line, arguments joined by spaces */
    int32_t exit_status; /* 128+N for signal N; -1 unknown */
    uint32_t started_by; /* enum process_start */
};

enum process_start { PROCESS_FIRST, PROCESS_FORK, PROCESS_EXEC };

struct thread {
    uint32_t process;
    uint32_t ordinal; /* 1 for the first thread of a process, in order of creation */
    uint32_t name;    /* string, "" unknown */
};

struct part {
    uint32_t name;  /* string: what DUMP was given; "" for the plain end of the run */
    uint32_t label; /* string: what LABEL was given, lines joined by newline */
};

/* Which tree a root context is: one row a (thread, part) that ran anything. */
struct root {
    uint32_t context;
    uint32_t thread;
    uint32_t part;
};

struct repair {
    uint32_t kind; /* string */
    uint64_t count;
};

enum detail { DETAIL_FUNCTION, DETAIL_LINE };

struct meta {
    uint32_t engine;  /* string: native, valgrind, riscv, or import:FORMAT */
    uint32_t command; /* string */
    int32_t exit_status;
    uint8_t detail; /* enum detail */
    uint8_t symbolized;
    uint8_t ended_early;              /* enum ending */
    uint64_t folded_contexts;         /* contexts that --max-contexts folded away */
    uint64_t unrecorded_instructions; /* ran while recording was off */
    /* What differs from run to run stands apart, in its own section. */
    uint64_t date_seconds; /* since 1970 */
    uint32_t host;         /* string */
    uint32_t pids;         /* string: pid of each process, joined by spaces */
};

enum ending { ENDING_EXIT, ENDING_BUDGET, ENDING_CHECKPOINT, ENDING_KILLED };

struct profile {
    struct meta meta;

    char **strings;
    size_t string_count, string_capacity;
    struct string_index *string_index; /* for interning; NULL until the first string_intern */

    struct module *modules;
    size_t module_count, module_capacity;
    struct function *functions;
    size_t function_count, function_capacity;
    struct location *locations;
    size_t location_count, location_capacity;
    struct location_frame *location_frames;
    size_t location_frame_count, location_frame_capacity;
    struct site *sites;
    size_t site_count, site_capacity;
    struct context *contexts;
    size_t context_count, context_capacity;
    struct block *blocks;
    size_t block_count, block_capacity;
    uint8_t *instruction_lengths;
    size_t instruction_length_count, instruction_length_capacity;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct block_count *counts;
    size_t count_count, count_capacity;
    struct line_count *lines;
    size_t line_count, line_capacity;
    struct process *processes;
    size_t process_count, process_capacity;
    struct thread *threads;
    size_t thread_count, thread_capacity;
    struct part *parts;
    size_t part_count, part_capacity;
    struct root *roots;
    size_t root_count, root_capacity;
    struct repair *repairs;
    size_t repair_count, repair_capacity;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* The id of `text`, added if it is new. */
uint32_t profile_intern(struct profile *profile, const char *text);
/* Adds `length` bytes of text without looking whether they are there already: for readers of
 * files that have them once. */
uint32_t profile_add_string(struct profile *profile, const char *text, size_t length);
const char *profile_string(const struct profile *profile, uint32_t id);

/* Sum over all contexts: the number of instructions recorded. */
uint64_t profile_total_instructions(const struct profile *profile);

/* Every invariant above. `name` is the file the message speaks of. */
int profile_check(const struct profile *profile, const char *name, struct error *error);

/* The .flame file. Writing goes to a new name beside `path`, then renames. Reading checks magic,
 * version, lengths, checksums and profile_check; a file that fails gives ERROR and nothing else. */
int flame_write(const struct profile *profile, const char *path, struct error *error);
int flame_read(const char *path, struct profile **profile, struct error *error);

/* The same from memory; `name` is what messages call it. */
int flame_parse(const uint8_t *bytes, size_t size_bytes, const char *name, struct profile **profile,
                struct error *error);

/* Adds everything of `from` to `into`, matching modules, functions, sites and contexts; the
 * processes of `from` become further processes of `into`. */
void profile_merge(struct profile *into, const struct profile *from);

#endif

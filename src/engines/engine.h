/*
 * engine.h: an engine as `record` sees it.
 *
 * `record` forks; the child calls execute, which runs the program under the engine and never
 * returns. What the engine leaves are raw files (core/raw.h) in the run folder, one for each
 * program that each process was; `record` reads them when the child has ended, and in between
 * whenever a checkpoint has rewritten one.
 */
#ifndef TRUEFLAME_ENGINE_H
#define TRUEFLAME_ENGINE_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum guest_abi { ABI_AUTO, ABI_LINUX, ABI_LAMBDA };
enum python_watch {
    WATCH_AUTO,
    WATCH_OFF,
    WATCH_TRAMPOLINE, /* by our extension */
    WATCH_PERF,       /* by CPython's own support for perf; never asked for, see record_python.c */
};

struct record_options {
    char *const *command; /* the program and its arguments, NULL-terminated */
    const char *program;  /* where the program was found */
    const char *output;   /* the profile to write */
    char *own_output;     /* its name, where we chose it */
    bool start_off;
    bool line_detail;
    bool keep_tail_calls;
    bool follow_children;
    bool raw;
    bool repeatable;
    bool quiet;
    bool progress;             /* keep a status file up to date */
    uint64_t budget;           /* instructions, 0: none */
    uint64_t checkpoint;       /* instructions, 0: never */
    uint64_t max_contexts;     /* 0: no limit */
    const char **skip_objects; /* patterns */
    size_t skip_object_count;
    const char **skip_functions;
    size_t skip_function_count;
    /* riscv */
    const char *input;       /* file with the guest's private input, NULL for none */
    const char *output_file; /* where its public output goes, NULL for nowhere */
    enum guest_abi abi;
    enum python_watch python;
    char *trampolines; /* which there are, and where: core/python_again.h */
    bool seeds_later;  /* Pythons that the program becomes or starts are given a hash seed */
    bool node;         /* Node is told to name its functions */
};

struct engine {
    const char *name;
    /* NULL if the engine can run this program, else one sentence why not. */
    const char *(*refuses)(const struct record_options *options);
    void (*execute)(const struct record_options *options, const char *run_folder)
        __attribute__((noreturn));
};

extern const struct engine valgrind_engine;
extern const struct engine riscv_engine;
extern const struct engine native_engine;

/* The exit status of a child that could not even start the program. `record` then looks for a
 * file `error` in the run folder, with the sentence to print. */
#define ENGINE_FAILED 125
_Noreturn void engine_fail(const char *run_folder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For engines that are programs: where `file` is, beside this program in the build folder or where `make
 * install` put it; why it cannot run a program that would have other rights, NULL if it can; and the
 * list of words that it is started with. */
char *engine_find(const char *folder, const char *file);
const char *engine_refuses_rights(const struct record_options *options);

struct engine_arguments {
    char **items;
    size_t count, capacity;
};

void engine_add(struct engine_arguments *arguments, char *text);

/* An engine that is told `--python-retry=PID` and finds, in the program that this process was
 * started for, a CPython whose frames it cannot watch but trampolines may show, leaves its minor
 * version and a sentence why in a file `python` in the run folder and ends, before any Python code
 * has run. */
#define ENGINE_PYTHON_FILE "python"

/* Other programs of the run are started once more by the engine. It then leaves this file, which tells
 * that there are maps of theirs to remove. */
#define ENGINE_TRAMPOLINES_FILE "trampolines"

/* Told `--python-seed`, it gives a fixed hash seed to each interpreter that has none, and leaves this
 * file. */
#define ENGINE_SEED_FILE "seed"

/* A status file: what a running engine has done so far, for the line on the terminal. Two 64-bit
 * words, instructions and contexts, in run_folder/status.PID. */

#endif

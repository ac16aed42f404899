/*
 * record.h: between the engine and the core: the core itself, what it asks of its platform, the
 * running count settled into contexts, and the raw file.
 */
#ifndef TRUEFLAME_NATIVE_RECORD_H
#define TRUEFLAME_NATIVE_RECORD_H

#include "engines/native/thread.h"

struct options {
    const char *run_folder; /* for raw files, NULL: none are written */
    bool print_total;       /* instructions to stderr at the end */
    bool narrow_vectors;    /* as if there were no AVX-512 */
    bool slow_loop;         /* as if the processor were slow at `loop` */
    bool line_detail, keep_tail_calls, start_off, follow_children, python, progress, repeatable;
    bool python_seed; /* interpreters that have no hash seed are given one */
    uint32_t max_contexts;
    uint64_t budget, checkpoint; /* instructions; 0: none */
    uint64_t python_retry;       /* the process that ends if Python cannot be watched; 0: none */
    const char *trampolines;     /* for Pythons that others start; NULL: none */
};

extern struct core core;
extern struct options options;

/* `command`: the program's arguments, NULL at the end. */
void record_init(char **command);

/* What ran since the last time belongs to the current context. Before anything changes that. At line
 * detail there is nothing to settle (lines.h), and the register is no count. */
static inline void record_settle(struct native_thread *thread)
{
    if (options.line_detail) {
        thread->hot.current->calls += thread->instructions; /* python_counts.h */
        thread->instructions = 0;
        return;
    }
    thread->hot.current->self_instructions += thread->instructions;
    thread->hot.current->calls += thread->calls;
    thread->instructions = thread->calls = 0;
}

/* Executable memory [start, end) holds the file behind descriptor `file` from `offset` on. */
void record_add_file(uint64_t start, uint64_t end, uint64_t offset, long file);

/* The kernel's own code, from its ELF header on. */
void record_add_vdso(uint64_t start, uint64_t end);

/* In the child of a fork: costs begin at zero, paths stay. */
void record_forked(struct native_thread *thread);

/* Is this the program that `record` was asked for, and not one that it became or started? */
bool record_is_first_program(void);

/* What a checkpoint wrote of this program does not count: it begins once more. */
void record_forget(void);

/* The process ends, or becomes another program: writes its raw file. */
void record_finish(int exit_status);

/* Writes it for any reason there is (enum raw_ending). */
void record_write(uint64_t ending, int exit_status);

#endif

/*
 * riscv.h: a RISC-V machine for other programs to embed.
 *
 *     struct riscv_options options = {.path = "guest.elf", .abi = RISCV_ABI_AUTO};
 *     struct error error;
 *     struct riscv_machine *machine = riscv_create(&options, &error);
 *     if (!machine)
 *         ... error.text says why, in one line
 *     while (riscv_run(machine, 1000000) == RISCV_RUNNING)
 *         ... a million instructions have passed: riscv_state(machine)->instructions
 *     int status = riscv_state(machine)->exit_status;
 *     riscv_destroy(machine);
 *
 * RV64IMAFDC with Zicsr and Zifencei, user level, one hart, on which the guest's threads take turns.
 * Machines are independent of each other; one machine belongs to one thread at a time. While
 * riscv_run is in progress the process's handlers for SIGSEGV and SIGBUS are the machine's; faults
 * that are not the guest's go on to the handlers that were there before.
 */
#ifndef TRUEFLAME_RISCV_H
#define TRUEFLAME_RISCV_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum riscv_abi {
    RISCV_ABI_AUTO,   /* by what the file is; see docs/riscv.md */
    RISCV_ABI_LINUX,  /* a static program for riscv64 Linux */
    RISCV_ABI_LAMBDA, /* a zkVM guest */
};

struct riscv_machine;

struct riscv_options {
    const char *path; /* the ELF file */
    enum riscv_abi abi;
    const char *const *arguments; /* argv, NULL-terminated; NULL: the path alone. linux only */
    const char *const *variables; /* envp, NULL-terminated; NULL: none. linux only */
    const char *input_path;       /* private input, NULL: none. lambda only */
    const char *output_path;      /* where public output goes, NULL: nowhere. lambda only */
    /* The process is the guest's: signals from outside are its signals, it may fork and exec, as
     * `lineage` says it has. Otherwise fork and exec are calls that are not known. linux only */
    bool owns_process;
    bool follows_children; /* a forked child goes on with the profile; otherwise without one */
    bool repeatable;       /* time and randomness are the guest's own work only. linux only */
    uint64_t blocked;      /* signals that are blocked from the start, bit N-1 for N. linux only */
    uint64_t image;        /* how many programs the process was before */
    /* Called before a program that is not the machine's takes the process over. */
    void (*before_exec)(void *context, struct riscv_machine *machine);
    /* Told, in one line, of things the user may want to know while the guest runs; may be NULL. */
    void (*note)(void *context, const char *text);
    void *note_context;
};

enum riscv_ending {
    RISCV_RUNNING,   /* not over */
    RISCV_EXITED,    /* by itself, with exit_status */
    RISCV_SIGNALLED, /* ended by the signal `exit_status` (fault, abort) */
    RISCV_SUCCEEDED, /* it wants to be another program: see riscv_successor */
    RISCV_FAILED,    /* something the environment does not allow; a guest's panic */
};

struct riscv_state {
    uint64_t pc;
    uint64_t x[32], f[32]; /* x[0] is 0; f holds raw bits */
    uint32_t fcsr;
    uint64_t instructions; /* executed so far, a faulting one included */
    enum riscv_ending ending;
    int exit_status;
    char message[4096]; /* what a guest that did not just exit ended with; one line */
};

/* Loads the program and stands before its first instruction. NULL: `error` says why. */
struct riscv_machine *riscv_create(const struct riscv_options *options, struct error *error);
void riscv_destroy(struct riscv_machine *machine);

/* Runs exactly `instructions` more, or fewer if the guest ends first. */
enum riscv_ending riscv_run(struct riscv_machine *machine, uint64_t instructions);

/* The registers and the ending as they are now; valid until the next call with this machine. */
const struct riscv_state *riscv_state(struct riscv_machine *machine);

/* Copies guest memory out or in; false, having copied nothing, if the guest has none there. */
bool riscv_read_memory(const struct riscv_machine *machine, uint64_t address, void *to,
                       size_t size_bytes);
bool riscv_write_memory(struct riscv_machine *machine, uint64_t address, const void *from,
                        size_t size_bytes);

/* Writes the public output so far to options.output_path, if there is one. */
int riscv_write_output(struct riscv_machine *machine, struct error *error);

/* The program that takes the place of one that ended with RISCV_SUCCEEDED. */
struct riscv_successor {
    char *path;
    char **arguments, **variables;
    uint64_t blocked;
};

/* What the machine has of it; from then on the caller's. */
struct riscv_successor riscv_take_successor(struct riscv_machine *machine);
void riscv_successor_free(struct riscv_successor *successor);

/* ---- the profile ---- */

/* Where a process comes from. */
struct riscv_lineage {
    uint64_t image;                    /* how many programs it was before */
    uint64_t parent_pid, parent_image; /* who forked it */
    uint64_t fork_ordinal;             /* 1 for the parent's first child; 0: it was not forked */
};

const struct riscv_lineage *riscv_lineage(const struct riscv_machine *machine);

struct riscv_profile_options {
    bool line_detail;      /* lines and inlined functions exact; costs more */
    bool keep_tail_calls;  /* show the function that made a tail call, too */
    bool paused;           /* record nothing until riscv_profile_resume */
    uint32_t max_contexts; /* call paths beyond which recursion folds; 0: no limit */
};

/* Watches the guest's calls from here on. Must come before the first riscv_run: only a stack that
 * was watched from the start is known. The profile's memory is kept until the process ends. */
void riscv_profile_begin(struct riscv_machine *machine,
                         const struct riscv_profile_options *options);

/* Recording off and on again. The stack is watched all the time, so that the path is known. */
void riscv_profile_pause(struct riscv_machine *machine);
void riscv_profile_resume(struct riscv_machine *machine);

enum riscv_profile_state { RISCV_PROFILE_ENDED, RISCV_PROFILE_BUDGET, RISCV_PROFILE_CHECKPOINT };

/* Writes what was recorded so far as a raw file (core/raw.h), under another name first. */
int riscv_profile_write(struct riscv_machine *machine, const char *path,
                        enum riscv_profile_state state, struct error *error);

/* Whether there is a profile: a child that is not followed has none. */
bool riscv_is_profiled(const struct riscv_machine *machine);

/* How many call paths there are so far. */
uint32_t riscv_profile_contexts(const struct riscv_machine *machine);

/* The guest's stack, newest frame first, for messages: calls `frame` with the address that is
 * executing in each frame and the name of its function, "" where there is none. Without a profile
 * only the newest frame is known. At most `most` frames. */
void riscv_walk_stack(struct riscv_machine *machine, unsigned most,
                      void (*frame)(void *context, uint64_t address, const char *name),
                      void *context);

/* Which environment was chosen: "linux" or "lambda". */
const char *riscv_environment_name(const struct riscv_machine *machine);

#endif

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
 * RV64IMAFDC with Zicsr and Zifencei, user level, one hart. Machines are independent of each other;
 * one machine belongs to one thread at a time. While riscv_run is in progress the process's
 * handlers for SIGSEGV and SIGBUS are the machine's; faults that are not the guest's go on to the
 * handlers that were there before.
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

struct riscv_options {
    const char *path;             /* the ELF file */
    enum riscv_abi abi;
    const char *const *arguments; /* argv, NULL-terminated; NULL: the path alone. linux only */
    const char *const *variables; /* envp, NULL-terminated; NULL: none. linux only */
    const char *input_path;       /* private input, NULL: none. lambda only */
    const char *output_path;      /* where public output goes, NULL: nowhere. lambda only */
    /* Told, in one line, of things the user may want to know while the guest runs; may be NULL. */
    void (*note)(void *context, const char *text);
    void *note_context;
};

enum riscv_ending {
    RISCV_RUNNING,   /* not over */
    RISCV_EXITED,    /* by itself, with exit_status */
    RISCV_SIGNALLED, /* ended by the signal `exit_status` (fault, abort) */
    RISCV_FAILED,    /* something the environment does not allow; a guest's panic */
};

struct riscv_state {
    uint64_t pc;
    uint64_t x[32], f[32]; /* x[0] is 0; f holds raw bits */
    uint32_t fcsr;
    uint64_t instructions; /* executed so far, a faulting one included */
    enum riscv_ending ending;
    int exit_status;
    char message[256]; /* what a guest that did not just exit ended with; one line */
};

struct riscv_machine;

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

/* Which environment was chosen: "linux" or "lambda". */
const char *riscv_environment_name(const struct riscv_machine *machine);

#endif

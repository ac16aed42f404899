/*
 * machine.h: the inside of a machine: registers, memory, translated blocks. For the files of this
 * directory; programs that embed the executor use riscv.h.
 *
 * The parts, each in its own file, know each other only through this header:
 *   decode, instructions   what an instruction is           (no machine)
 *   memory                 the guest's address space        (no machine)
 *   blocks                 guest code -> arrays of operations, found by address
 *   dispatch               runs operations until something needs the outside
 *   machine                starts, stops, faults, control registers
 *   linux..., lambda       what an environment call does
 *   profiling              the core's calling-context tree, told of calls and returns
 */
#ifndef TRUEFLAME_RISCV_MACHINE_H
#define TRUEFLAME_RISCV_MACHINE_H

#include "engines/riscv/blocks.h"
#include "engines/riscv/memory.h"
#include "engines/riscv/riscv.h"
#include <setjmp.h>

enum {
    REGISTER_RA = 1,
    REGISTER_SP = 2,
    REGISTER_GP = 3,
    REGISTER_A0 = 10,
    REGISTER_A4 = 14,
    REGISTER_A7 = 17
};

/* Why dispatch came back. */
enum dispatch_stop {
    DISPATCH_BUDGET,  /* the next block has more instructions than the slice; pc is its start */
    DISPATCH_ECALL,   /* pc is behind the instruction */
    DISPATCH_EBREAK,  /* pc is the instruction's, which is counted */
    DISPATCH_ILLEGAL, /* likewise */
    DISPATCH_FETCH,   /* no code at pc */
    DISPATCH_FAULT,   /* a load or store at fault_address; pc is the instruction's */
    DISPATCH_BUS,     /* a misaligned atomic access, likewise */
    DISPATCH_FLUSH,   /* code may have changed, or the way floats are translated has; go on */
};

struct profiler;
struct riscv_machine;

/* The ways of running: without a profile, with one at function or at line detail. With a NULL
 * machine they only return the table of handlers, indexed by enum micro. */
typedef enum dispatch_stop dispatch_function(struct riscv_machine *machine,
                                             const void *const **handlers);
dispatch_function dispatch_plain, dispatch_functions, dispatch_lines;

struct riscv_machine {
    /* What dispatch touches, first. x[32] takes what is written to x0. */
    uint64_t x[33];
    uint64_t f[32];
    int64_t slice;       /* instructions that may still run before dispatch must return */
    uint8_t *zero;       /* memory.zero */
    const struct op *at; /* the operation that is accessing memory */
    uint64_t reserved_address, reserved_value; /* lr/sc; address is UINT64_MAX when there is none */
    struct profiler *profiler;                 /* NULL: run plain */
    uint64_t pc;
    uint64_t fault_address;
    uint64_t call_address; /* of the environment call that is being answered, or was the last */
    uint64_t retired; /* instructions of all slices given out, minus `slice`: see machine_retired */
    uint32_t fcsr;    /* frm in bits 7-5; fflags only while dispatch is not running */

    dispatch_function *dispatch;
    struct block_cache blocks;
    struct guest_memory memory;
    sigjmp_buf fault_return;
    bool dispatching; /* fault_return is valid */
    enum dispatch_stop fault_stop;

    const struct environment *environment;
    void *environment_state;
    struct riscv_options options;
    struct riscv_image *image;
    struct riscv_state state; /* the registers in it are filled in by riscv_state() */
    struct riscv_lineage lineage;
    struct riscv_successor successor;
    uint64_t forks;    /* children so far */
    bool call_is_last; /* an environment call ended the run */
    bool leaves_slice; /* the environment wants to be asked for the next turn now */
    bool code_changed; /* blocks must be flushed before dispatch goes on */
    int64_t
        held_slice; /* what was taken from `slice` to make dispatch return; see machine_interrupt */
};

/* Instructions executed so far. */
static inline uint64_t machine_retired(const struct riscv_machine *machine)
{
    return machine->retired - (uint64_t)machine->slice;
}

/* What answers environment calls. Tables of functions, one for each ABI. */
struct environment {
    const char *name;
    /* Sets up memory, registers and the environment's own state. */
    int (*start)(struct riscv_machine *machine, struct error *error);
    /* Answers the call in a7; ends the run with machine_stop if that is what the call means. */
    void (*call)(struct riscv_machine *machine);
    /* A fault or trap: likewise, unless the guest has a handler of its own. */
    void (*trap)(struct riscv_machine *machine, enum dispatch_stop stop);
    /* The name of the call that was just made, for frames; NULL: unknown. */
    const char *(*call_name)(const struct riscv_machine *machine);
    /* The guest touched an address where nothing is mapped: true if now something is. NULL: no. */
    bool (*touch)(struct riscv_machine *machine, uint64_t address);
    /* Before each slice: at most how many instructions it may have; NULL: as many as one likes. */
    uint64_t (*turn)(struct riscv_machine *machine);
    /* Where the value of a control register is kept that programs do not usually have; NULL, or
     * the function NULL: it is not there. */
    uint64_t *(*csr)(struct riscv_machine *machine, unsigned number);
    /* Public output to where the options say. NULL: the environment has none. */
    int (*write_output)(struct riscv_machine *machine, struct error *error);
    void (*finish)(struct riscv_machine *machine);
};

extern const struct environment linux_environment;
extern const struct environment lambda_environment;

/* Switches to another way of running; all blocks are translated anew. */
void machine_choose_dispatch(struct riscv_machine *machine, dispatch_function *dispatch);

/* Runs until the slice is used up or something happened; faults come back as values. */
enum dispatch_stop machine_dispatch(struct riscv_machine *machine);

/* Makes dispatch return before the next block that has instructions; blocks are flushed then. */
void machine_interrupt(struct riscv_machine *machine);

/* The machine that runs on this thread, NULL for none: for those who cannot be told, which are
 * the handler of host signals and the core's questions about the guest's memory. */
struct riscv_machine *machine_running(void);
void machine_set_running(struct riscv_machine *machine);

/* Leaves dispatch from inside a memory access. */
_Noreturn void machine_fault(struct riscv_machine *machine, enum dispatch_stop stop,
                             uint64_t address);

/* Accesses outside the windows: sparse memory, or a fault. */
uint64_t machine_load_outside(struct riscv_machine *machine, uint64_t address, unsigned size);
void machine_store_outside(struct riscv_machine *machine, uint64_t address, uint64_t value,
                           unsigned size);

/* Zicsr: op->rs2 says which instruction, counted from csrrw. Returns DISPATCH_ILLEGAL for a
 * register that is not there, DISPATCH_FLUSH when floats must be translated anew, DISPATCH_BUDGET
 * otherwise. */
enum dispatch_stop machine_access_csr(struct riscv_machine *machine, const struct op *op,
                                      unsigned csr);

/* Records why the run is over. */
void machine_stop(struct riscv_machine *machine, enum riscv_ending ending, int status,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif

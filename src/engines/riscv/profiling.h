/*
 * profiling.h: the machine's side of the core: what dispatch tells it of calls, returns and jumps.
 *
 * Two details. At function detail nothing is done for a block: machine->slice says how many
 * instructions have run, and what ran since the last change of context is added to the context
 * (`settled`). At line detail every block that is entered counts one for (context, block), and the
 * sums are derived from that.
 *
 * The core thinks of calls as x86 makes them: the return address is pushed, so that a callee's
 * stack pointer is always below the one its caller has after the return. RISC-V pushes nothing:
 * a leaf has its caller's stack pointer. So the core is given a stack pointer 8 higher for the
 * caller's side, at a call and after a return, and the true one for everything inside a frame.
 */
#ifndef TRUEFLAME_RISCV_PROFILING_H
#define TRUEFLAME_RISCV_PROFILING_H

#include "core/core.h"
#include "engines/riscv/machine.h"
#include "engines/riscv/translate.h"

#define CALLER_SIDE 8

struct profiler {
    struct hot hot;  /* first: dispatch touches it all the time */
    int64_t settled; /* machine->slice when instructions were last added to a context */
    struct thread *thread;
    struct core core;
    struct code_module *module;
    bool line_detail;
    uint64_t trampoline; /* handlers return there; 0: none */
};

/* Where the function that holds `address` ends, for the translator; UINT64_MAX without a profile.
 */
uint64_t profiling_function_end(struct riscv_machine *machine, uint64_t address);

/* Whether the address is in a procedure linkage table; false without a profile. */
bool profiling_is_plt(const struct riscv_machine *machine, uint64_t address);

/* Fills in what the profile knows of a new block. */
void profiling_describe_block(struct riscv_machine *machine, struct block *block,
                              const struct translation *translation);

/* Adds what ran since the last time to the current context. */
static inline void profiling_settle(struct riscv_machine *machine, struct profiler *profiler)
{
    profiler->hot.current->self_instructions += (uint64_t)(profiler->settled - machine->slice);
    profiler->settled = machine->slice;
}

/* A linking jump at the end of `block` to where it always goes: the child has a slot in its
 * parent, next to what is being looked at anyway. */
static inline void profiling_call(struct riscv_machine *machine, struct profiler *profiler,
                                  const struct block *block)
{
    struct context *current = profiler->hot.current;
    struct context_slot *slot = &current->slots[block->site % CONTEXT_SLOTS];
    struct context *child = slot->child;

    if (__builtin_expect(slot->site != block->site, 0)) {
        child = core_callee(&profiler->core, profiler->thread, block->site, block->target);
        if (child)
            *slot = (struct context_slot){.site = block->site, .child = child};
    }
    core_push(&profiler->core, profiler->thread, block->end, machine->x[REGISTER_SP] + CALLER_SIDE);
    if (__builtin_expect(!child, 0))
        return;
    child->calls++;
    profiler->hot.current = child;
}

/* The same through a register, to a target that may be another each time. */
static inline void profiling_call_register(struct riscv_machine *machine, struct profiler *profiler,
                                           const struct block *block, uint64_t target)
{
    core_call(&profiler->core, profiler->thread, block->site, target, block->end,
              machine->x[REGISTER_SP] + CALLER_SIDE);
}

/* A linking jump to where the newest call would return, in the middle of a function: a coroutine
 * that lets the other one go on. To that one it is a return, with whatever stack pointer; what was
 * linked is where it will call next. */
static inline bool profiling_is_swap(struct profiler *profiler, uint64_t target)
{
    return profiler->hot.top[-1].return_address == target &&
           !code_map_is_entry(&profiler->core.code, target);
}

void profiling_swap(struct riscv_machine *machine, struct block *next);

/* True if a jump to `target` is the return that the newest entry waits for. */
static inline bool profiling_return(struct riscv_machine *machine, struct profiler *profiler,
                                    uint64_t target)
{
    return core_return_fast(profiler->thread, target, machine->x[REGISTER_SP] + CALLER_SIDE);
}

/* A jump through a register that is not such a return, to `next`. */
void profiling_jump(struct riscv_machine *machine, struct block *next);

/* Control comes to `next`, whose function is not the current one. */
void profiling_mismatch(struct riscv_machine *machine, struct block *next);

/* addi x0, x0, number: what follows in this function is counted in a frame `label:number`. */
void profiling_marker(struct riscv_machine *machine, int32_t number);

/* What the program asks of the profiler; a4 points to the request and its argument. */
void profiling_request(struct riscv_machine *machine);

/* Of the instructions of `block`, which were charged, only the first `executed` ran. */
void profiling_cut_block(struct riscv_machine *machine, struct block *block, unsigned executed);

/* The environment call at `address`, already charged, is `name`. Without a profile these do
 * nothing. */
void profiling_environment_call(struct riscv_machine *machine, uint64_t address);
void profiling_signal_in(struct riscv_machine *machine, unsigned number, bool alternate);
void profiling_signal_out(struct riscv_machine *machine);

/* Threads of the guest: a new one that will begin with this stack pointer, NULL without a profile;
 * the one that runs from now on; one that is over and will not run again. */
struct thread *profiling_thread_new(struct riscv_machine *machine, uint64_t sp);
void profiling_thread_switch(struct riscv_machine *machine, struct thread *thread);
void profiling_thread_end(struct riscv_machine *machine, struct thread *thread);

/* Around a fork; the second in the child. */
void profiling_before_fork(struct riscv_machine *machine);
void profiling_forked(struct riscv_machine *machine);

/* Adds to the contexts what has run, so that their counts are right. */
void profiling_bring_up_to_date(struct riscv_machine *machine);

/* Releases the profiler, if there is one. */
void profiling_end(struct riscv_machine *machine);

/* machine->slice is about to be changed by `by`, for reasons other than running. */
void profiling_adjust_slice(struct riscv_machine *machine, int64_t by);

#endif

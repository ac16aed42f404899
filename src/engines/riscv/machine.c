/*
 * machine.c: a machine's life: created, run in slices, stopped. Faults of the guest arrive here as
 * signals of the host.
 */
#include "engines/riscv/machine.h"

#include "common/memory.h"
#include "engines/riscv/image.h"
#include "engines/riscv/float.h"
#include "engines/riscv/profiling.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <xmmintrin.h>

#define MAX_SLICE (1ull << 30)

/* The machine whose guest is running on this thread, for the signal handler. */
static _Thread_local struct riscv_machine *running;

/* The handlers are the process's: the first machine that runs brings ours, the last one takes
 * them away again. */
static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned handlers_users;
static struct sigaction handler_before[2]; /* of SIGSEGV, SIGBUS */

static bool is_guest_memory(const struct riscv_machine *machine, const void *address)
{
    return memory_is_inside((uint64_t)((const uint8_t *)address - machine->memory.zero));
}

/* Not the guest's fault: let whoever was there before have it, or let it kill. */
static void pass_on(int number, siginfo_t *information, void *context)
{
    const struct sigaction *before = &handler_before[number == SIGBUS];

    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(number, information, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
}

/* Sparse memory comes to life in pieces of a megabyte. Everything that is mapped there is readable
 * and writable, so that a fault means that nothing is. */
static bool map_touched(struct riscv_machine *machine, uint64_t address)
{
    const uint64_t piece = 1 << 20;
    struct error ignored;

    return !memory_ensure(&machine->memory, address & ~(piece - 1), piece, &ignored);
}

static void handle_fault(int number, siginfo_t *information, void *context)
{
    struct riscv_machine *machine = running;

    if (!machine || !machine->dispatching || !is_guest_memory(machine, information->si_addr)) {
        pass_on(number, information, context);
        return;
    }
    uint64_t address = (uint64_t)((uint8_t *)information->si_addr - machine->memory.zero);
    if (machine->memory.sparse
            ? map_touched(machine, address)
            : machine->environment->touch && machine->environment->touch(machine, address))
        return;
    /* The kernel gave the handler a fresh control register; the guest's flags are in the saved one.
     */
    _mm_setcsr(((ucontext_t *)context)->uc_mcontext.fpregs->mxcsr);
    machine_fault(machine, number == SIGBUS ? DISPATCH_BUS : DISPATCH_FAULT, address);
}

static void install_handlers(void)
{
    struct sigaction action = {.sa_sigaction = handle_fault,
                               /* left by a jump, so the signal must not stay blocked */
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&handlers_lock);
    if (!handlers_users++) {
        sigaction(SIGSEGV, &action, &handler_before[0]);
        sigaction(SIGBUS, &action, &handler_before[1]);
    }
    pthread_mutex_unlock(&handlers_lock);
}

static void remove_handlers(void)
{
    pthread_mutex_lock(&handlers_lock);
    if (!--handlers_users) {
        sigaction(SIGSEGV, &handler_before[0], NULL);
        sigaction(SIGBUS, &handler_before[1], NULL);
    }
    pthread_mutex_unlock(&handlers_lock);
}

_Noreturn void machine_fault(struct riscv_machine *machine, enum dispatch_stop stop,
                             uint64_t address)
{
    machine->fault_stop = stop;
    machine->fault_address = address;
    siglongjmp(machine->fault_return, 1);
}

uint64_t machine_load_outside(struct riscv_machine *machine, uint64_t address, unsigned size)
{
    if (!machine->memory.sparse)
        machine_fault(machine, DISPATCH_FAULT, address);
    return memory_load_sparse(&machine->memory, address, size);
}

void machine_store_outside(struct riscv_machine *machine, uint64_t address, uint64_t value,
                           unsigned size)
{
    if (!machine->memory.sparse)
        machine_fault(machine, DISPATCH_FAULT, address);
    memory_store_sparse(&machine->memory, address, value, size);
}

/* A fault in the middle of a block: the rest of it, which was charged, did not run. */
static void settle_fault(struct riscv_machine *machine)
{
    const struct op *op = machine->at;
    struct block *block = blocks_of_op(&machine->blocks, op);
    unsigned executed = op->ordinal + 1u;

    machine->pc = blocks_address_of(machine, block, op);
    machine->slice += block->instructions - executed;
    profiling_cut_block(machine, block, executed);
}

enum dispatch_stop machine_dispatch(struct riscv_machine *machine)
{
    enum dispatch_stop stop;

    machine->dispatching = true;
    unsigned host = float_enter(machine->fcsr);
    if (sigsetjmp(machine->fault_return, 0)) {
        settle_fault(machine);
        stop = machine->fault_stop;
    } else {
        stop = machine->dispatch(machine, NULL);
    }
    machine->fcsr = (machine->fcsr & ~31u) | float_leave(host);
    machine->dispatching = false;
    return stop;
}

struct riscv_machine *machine_running(void)
{
    return running;
}

void machine_set_running(struct riscv_machine *machine)
{
    running = machine;
}

/* With a slice of -1 no block that has instructions can be paid for. */
void machine_interrupt(struct riscv_machine *machine)
{
    if (machine->code_changed)
        return;
    machine->code_changed = true;
    machine->held_slice = machine->slice + 1;
    machine->slice -= machine->held_slice;
    profiling_adjust_slice(machine, -machine->held_slice);
}

static void resume_interrupted(struct riscv_machine *machine)
{
    machine->slice += machine->held_slice;
    profiling_adjust_slice(machine, machine->held_slice);
    machine->code_changed = false;
    blocks_flush(&machine->blocks);
}

void machine_stop(struct riscv_machine *machine, enum riscv_ending ending, int status,
                  const char *format, ...)
{
    va_list arguments;

    machine->state.ending = ending;
    machine->state.exit_status = status;
    va_start(arguments, format);
    vsnprintf(machine->state.message, sizeof machine->state.message, format, arguments);
    va_end(arguments);
}

/* The last instructions before the end of a slice, fewer than the next block has. Dispatch finds
 * its first block in the jump cache. */
static enum dispatch_stop run_short_block(struct riscv_machine *machine)
{
    struct jump_cache_entry *entry = blocks_jump_entry(&machine->blocks, machine->pc);
    struct jump_cache_entry saved = *entry;
    struct block *block = blocks_find_short(machine, machine->pc, (unsigned)machine->slice);

    *entry = (struct jump_cache_entry){.address = machine->pc, .block = block};
    enum dispatch_stop stop = machine_dispatch(machine);
    if (entry->block == block)
        *entry = saved;
    return stop;
}

static void handle_stop(struct riscv_machine *machine, enum dispatch_stop stop)
{
    switch (stop) {
    case DISPATCH_BUDGET:
        break;
    case DISPATCH_ECALL:
        profiling_environment_call(machine, machine->call_address);
        machine->environment->call(machine);
        machine->call_is_last = machine->state.ending != RISCV_RUNNING;
        break;
    case DISPATCH_FLUSH:
        blocks_flush(&machine->blocks);
        break;
    default:
        machine->environment->trap(machine, stop);
        break;
    }
}

/* At most MAX_SLICE instructions: fewer than BLOCK_SPECIAL. */
static void run_slice(struct riscv_machine *machine, uint64_t instructions)
{
    machine->slice = (int64_t)instructions;
    machine->retired += instructions;
    profiling_adjust_slice(machine, machine->slice);
    machine->leaves_slice = false;
    while (machine->state.ending == RISCV_RUNNING && machine->slice > 0 && !machine->leaves_slice) {
        enum dispatch_stop stop = machine_dispatch(machine);
        if (stop == DISPATCH_BUDGET && machine->slice > 0 && !machine->code_changed)
            stop = run_short_block(machine);
        if (machine->code_changed)
            resume_interrupted(machine);
        handle_stop(machine, stop);
        if (machine->code_changed)
            resume_interrupted(machine);
    }
    machine->retired -= (uint64_t)machine->slice;
    profiling_adjust_slice(machine, -machine->slice);
    machine->slice = 0;
}

enum riscv_ending riscv_run(struct riscv_machine *machine, uint64_t instructions)
{
    const struct environment *environment = machine->environment;

    install_handlers();
    running = machine;
    while (machine->state.ending == RISCV_RUNNING && instructions) {
        uint64_t slice = instructions < MAX_SLICE ? instructions : MAX_SLICE;
        uint64_t turn = environment->turn ? environment->turn(machine) : slice;
        uint64_t before = machine->retired;
        run_slice(machine, turn < slice ? turn : slice);
        instructions -= machine->retired - before;
    }
    running = NULL;
    remove_handlers();
    return machine->state.ending;
}

static const struct environment *choose_environment(const struct riscv_machine *machine)
{
    enum riscv_abi abi = machine->options.abi;

    if (abi == RISCV_ABI_AUTO)
        abi = machine->image->abi;
    return abi == RISCV_ABI_LAMBDA ? &lambda_environment : &linux_environment;
}

void machine_choose_dispatch(struct riscv_machine *machine, dispatch_function *dispatch)
{
    machine->dispatch = dispatch;
    machine->blocks.profiled = dispatch != dispatch_plain;
    dispatch(NULL, &machine->blocks.handlers);
    blocks_flush(&machine->blocks);
}

struct riscv_machine *riscv_create(const struct riscv_options *options, struct error *error)
{
    struct riscv_machine *machine = memory_allocate_zeroed(1, sizeof *machine);

    machine->options = *options;
    machine->lineage.image = options->image;
    machine->image = memory_allocate_zeroed(1, sizeof *machine->image);
    machine->reserved_address = UINT64_MAX;
    blocks_create(&machine->blocks);
    machine_choose_dispatch(machine, dispatch_plain);
    if (image_read(machine->image, options->path, error) ||
        memory_create(&machine->memory, error)) {
        riscv_destroy(machine);
        return NULL;
    }
    machine->zero = machine->memory.zero;
    machine->pc = machine->image->entry;
    machine->environment = choose_environment(machine);
    if (machine->environment->start(machine, error)) {
        riscv_destroy(machine);
        return NULL;
    }
    return machine;
}

void riscv_destroy(struct riscv_machine *machine)
{
    if (machine->environment)
        machine->environment->finish(machine);
    riscv_successor_free(&machine->successor);
    profiling_end(machine);
    blocks_destroy(&machine->blocks);
    memory_destroy(&machine->memory);
    image_release(machine->image);
    free(machine->image);
    free(machine);
}

const struct riscv_state *riscv_state(struct riscv_machine *machine)
{
    struct riscv_state *state = &machine->state;

    memcpy(state->x, machine->x, sizeof state->x);
    memcpy(state->f, machine->f, sizeof state->f);
    state->pc = machine->pc;
    state->fcsr = machine->fcsr;
    state->instructions = machine_retired(machine);
    return state;
}

bool riscv_read_memory(const struct riscv_machine *machine, uint64_t address, void *to,
                       size_t size_bytes)
{
    return memory_read(&machine->memory, address, to, size_bytes);
}

bool riscv_write_memory(struct riscv_machine *machine, uint64_t address, const void *from,
                        size_t size_bytes)
{
    return memory_write(&machine->memory, address, from, size_bytes);
}

int riscv_write_output(struct riscv_machine *machine, struct error *error)
{
    return machine->environment->write_output ? machine->environment->write_output(machine, error)
                                              : OK;
}

struct riscv_successor riscv_take_successor(struct riscv_machine *machine)
{
    struct riscv_successor successor = machine->successor;

    machine->successor = (struct riscv_successor){0};
    return successor;
}

const struct riscv_lineage *riscv_lineage(const struct riscv_machine *machine)
{
    return &machine->lineage;
}

const char *riscv_environment_name(const struct riscv_machine *machine)
{
    return machine->environment->name;
}

/*
 * machine.c: a machine's life: created, run in slices, stopped. Faults of the guest arrive here as
 * signals of the host.
 */
#include "engines/riscv/machine.h"

#include "common/memory.h"
#include "engines/riscv/elf.h"
#include "engines/riscv/float.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <xmmintrin.h>

/* The machine whose guest is running on this thread, for the signal handler. */
static _Thread_local struct riscv_machine *running;

static pthread_once_t handlers_installed = PTHREAD_ONCE_INIT;
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

static void handle_fault(int number, siginfo_t *information, void *context)
{
    struct riscv_machine *machine = running;

    if (!machine || !is_guest_memory(machine, information->si_addr)) {
        pass_on(number, information, context);
        return;
    }
    /* The kernel gave the handler a fresh control register; the guest's flags are in the saved one. */
    _mm_setcsr(((ucontext_t *)context)->uc_mcontext.fpregs->mxcsr);
    machine_fault(machine, number == SIGBUS ? DISPATCH_BUS : DISPATCH_FAULT,
                  (uint64_t)((uint8_t *)information->si_addr - machine->memory.zero));
}

static void install_handlers(void)
{
    struct sigaction action = {.sa_sigaction = handle_fault,
                               /* left by a jump, so the signal must not stay blocked */
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &handler_before[0]);
    sigaction(SIGBUS, &action, &handler_before[1]);
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
    const struct block *block = blocks_of_op(&machine->blocks, op);

    machine->pc = blocks_address_of(machine, block, op);
    machine->slice += block->instructions - (op->ordinal + 1);
}

enum dispatch_stop machine_dispatch(struct riscv_machine *machine)
{
    enum dispatch_stop stop;

    pthread_once(&handlers_installed, install_handlers);
    running = machine;
    unsigned host = float_enter(machine->fcsr);
    if (sigsetjmp(machine->fault_return, 0)) {
        settle_fault(machine);
        stop = machine->fault_stop;
    } else {
        stop = dispatch_plain(machine, NULL);
    }
    machine->fcsr = (machine->fcsr & ~31u) | float_leave(host);
    running = NULL;
    return stop;
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

/* The last instructions before the end of a slice, fewer than the next block has. */
static void run_short_block(struct riscv_machine *machine)
{
    struct jump_cache_entry *entry = blocks_jump_entry(&machine->blocks, machine->pc);
    struct jump_cache_entry saved = *entry;
    struct block *block =
        blocks_find_short(machine, machine->pc, (unsigned)machine->slice);

    /* Dispatch finds its first block in the jump cache. */
    *entry = (struct jump_cache_entry){.address = machine->pc, .block = block};
    enum dispatch_stop stop = machine_dispatch(machine);
    if (entry->block == block)
        *entry = saved;
    (void)stop;
}

static void handle_stop(struct riscv_machine *machine, enum dispatch_stop stop)
{
    const struct environment *environment = machine->environment;

    switch (stop) {
    case DISPATCH_BUDGET:
        break;
    case DISPATCH_ECALL:
        environment->call(machine);
        break;
    case DISPATCH_FLUSH:
        blocks_flush(&machine->blocks);
        break;
    default:
        environment->trap(machine, stop);
        break;
    }
}

enum riscv_ending riscv_run(struct riscv_machine *machine, uint64_t instructions)
{
    machine->slice += (int64_t)instructions;
    machine->retired += instructions;
    while (machine->state.ending == RISCV_RUNNING && machine->slice > 0) {
        enum dispatch_stop stop = machine_dispatch(machine);
        if (stop == DISPATCH_BUDGET && machine->slice > 0)
            run_short_block(machine);
        else
            handle_stop(machine, stop);
    }
    machine->retired -= (uint64_t)machine->slice;
    machine->slice = 0;
    return machine->state.ending;
}

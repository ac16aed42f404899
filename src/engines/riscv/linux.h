/*
 * linux.h: what the files of the linux environment share.
 */
#ifndef TRUEFLAME_RISCV_LINUX_H
#define TRUEFLAME_RISCV_LINUX_H

#include "engines/riscv/machine.h"

#define LINUX_SIGNALS 64

/* The kernel's struct sigaction. */
struct linux_action {
    uint64_t handler, flags, mask;
};

struct linux_state {
    uint64_t break_start, break_end; /* brk */
    uint64_t map_limit;              /* mmap looks for room below */
    uint64_t trampoline;             /* where a signal handler returns to */
    struct linux_action actions[LINUX_SIGNALS + 1];
    uint64_t blocked, pending;                /* signals, bit N-1 for signal N */
    uint64_t alternate_start, alternate_size; /* sigaltstack; size 0: none */
    uint8_t reported[1024 / 8];               /* unknown calls that were reported already */
};

static inline struct linux_state *linux_state_of(struct riscv_machine *machine)
{
    return machine->environment_state;
}

/* The host address of a guest pointer: NULL stays NULL, what cannot be the guest's becomes an
 * address that the kernel refuses. */
static inline void *linux_pointer(const struct riscv_machine *machine, uint64_t address)
{
    if (!address)
        return NULL;
    return memory_is_inside(address) ? memory_host(&machine->memory, address) : (void *)-4096;
}

/* Calls with more to them than passing them on. Each returns the result or -errno. */
typedef int64_t linux_call(struct riscv_machine *machine, const uint64_t *arguments);

linux_call linux_brk, linux_mmap, linux_munmap, linux_mprotect, linux_mremap;
linux_call linux_fstat, linux_fstatat, linux_readv, linux_writev, linux_readlinkat, linux_openat;
linux_call linux_ioctl;
linux_call linux_rt_sigaction, linux_rt_sigprocmask, linux_sigaltstack, linux_kill, linux_tgkill;

/* The stack, arguments, environment and auxiliary vector. */
int linux_prepare_stack(struct riscv_machine *machine, struct error *error);

/* Puts the handler of a signal on the stack, ends the guest, or does nothing: as the action says.
 * `address` is what a fault was about. Returns false if the guest is over. */
bool linux_raise(struct riscv_machine *machine, int number, int code, uint64_t address);

/* Delivers what is pending and not blocked. */
void linux_deliver_pending(struct riscv_machine *machine);

/* Back from a handler. */
void linux_sigreturn(struct riscv_machine *machine);

#endif

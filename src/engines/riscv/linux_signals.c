/*
 * linux_signals.c: signals the guest raises itself, by call or by fault.
 *
 * A handler runs on the guest's stack, or its alternate one, over a frame as the kernel lays it
 * out, and returns through a trampoline that does rt_sigreturn. Signals from other processes are
 * the host's: they end trueflame, which keeps the profile.
 */
#include "engines/riscv/linux.h"
#include "engines/riscv/profiling.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ACTION_DEFAULT 0
#define ACTION_IGNORE  1

/* struct rt_sigframe of the kernel. */
struct guest_frame {
    struct {
        int32_t number, error, code, padding;
        uint64_t address;
        uint8_t rest[104];
    } information;
    struct {
        uint64_t flags, link;
        uint64_t stack_start;
        uint32_t stack_flags, padding_1;
        uint64_t stack_size;
        uint64_t mask;
        uint8_t unused[120];
        uint64_t padding_2;
        uint64_t pc, x[31]; /* x1 to x31 */
        uint64_t f[32];
        uint32_t fcsr;
        uint8_t rest[268];
    } context;
};

_Static_assert(sizeof(((struct guest_frame *)0)->information) == 128, "siginfo");
_Static_assert(offsetof(struct guest_frame, context.pc) == 128 + 176, "ucontext");

static uint64_t bit_of(int number)
{
    return 1ull << (number - 1);
}

static bool is_ignored_by_default(int number)
{
    return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
}

static void end_by_signal(struct riscv_machine *machine, int number, uint64_t address)
{
    const char *name = sigabbrev_np(number);
    char where[64] = "";

    if (number == SIGSEGV || number == SIGBUS)
        snprintf(where, sizeof where, " on address 0x%llx", (unsigned long long)address);
    machine_stop(machine, RISCV_SIGNALLED, number, "SIG%s%s at pc 0x%llx", name ? name : "?", where,
                 (unsigned long long)machine->pc);
}

static bool on_alternate_stack(const struct linux_state *state, uint64_t sp)
{
    return sp - state->alternate_start < state->alternate_size;
}

static bool push_frame(struct riscv_machine *machine, const struct linux_action *action, int number,
                       int code, uint64_t address)
{
    struct linux_state *state = linux_state_of(machine);
    struct guest_frame frame = {
        .information = {.number = number, .code = code, .address = address}};
    uint64_t sp = machine->x[REGISTER_SP];
    bool alternate =
        action->flags & SA_ONSTACK && state->alternate_size && !on_alternate_stack(state, sp);

    if (alternate)
        sp = state->alternate_start + state->alternate_size;
    sp = (sp - sizeof frame) & ~15ull;
    frame.context.stack_start = state->alternate_start;
    frame.context.stack_size = state->alternate_size;
    frame.context.mask = state->blocked;
    frame.context.pc = machine->pc;
    memcpy(frame.context.x, machine->x + 1, sizeof frame.context.x);
    memcpy(frame.context.f, machine->f, sizeof frame.context.f);
    frame.context.fcsr = machine->fcsr;
    if (!memory_write(&machine->memory, sp, &frame, sizeof frame))
        return false;
    profiling_signal_in(machine, (unsigned)number, alternate);
    state->blocked |= action->mask | (action->flags & SA_NODEFER ? 0 : bit_of(number));
    machine->pc = action->handler;
    machine->x[REGISTER_RA] = state->trampoline;
    machine->x[REGISTER_SP] = sp;
    machine->x[REGISTER_A0] = (uint64_t)number;
    machine->x[REGISTER_A0 + 1] = sp + offsetof(struct guest_frame, information);
    machine->x[REGISTER_A0 + 2] = sp + offsetof(struct guest_frame, context);
    return true;
}

/* Acts on a signal that is not blocked. */
static bool deliver(struct riscv_machine *machine, int number, int code, uint64_t address)
{
    struct linux_state *state = linux_state_of(machine);
    struct linux_action action = state->actions[number];

    if (action.handler == ACTION_IGNORE ||
        (action.handler == ACTION_DEFAULT && is_ignored_by_default(number)))
        return true;
    if (action.flags & SA_RESETHAND)
        state->actions[number].handler = ACTION_DEFAULT;
    if (action.handler == ACTION_DEFAULT || !push_frame(machine, &action, number, code, address)) {
        end_by_signal(machine, number, address);
        return false;
    }
    return true;
}

bool linux_raise(struct riscv_machine *machine, int number, int code, uint64_t address)
{
    struct linux_state *state = linux_state_of(machine);

    /* A fault that is blocked or ignored cannot wait: it kills. */
    if (state->blocked & bit_of(number) || state->actions[number].handler == ACTION_IGNORE) {
        end_by_signal(machine, number, address);
        return false;
    }
    return deliver(machine, number, code, address);
}

void linux_deliver_pending(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t ready = state->pending & ~state->blocked;

    if (!ready || machine->state.ending != RISCV_RUNNING)
        return;
    int number = __builtin_ctzll(ready) + 1;
    state->pending &= ~bit_of(number);
    deliver(machine, number, SI_USER, 0);
}

void linux_sigreturn(struct riscv_machine *machine)
{
    struct guest_frame frame;

    if (!memory_read(&machine->memory, machine->x[REGISTER_SP], &frame, sizeof frame)) {
        end_by_signal(machine, SIGSEGV, machine->x[REGISTER_SP]);
        return;
    }
    machine->pc = frame.context.pc;
    memcpy(machine->x + 1, frame.context.x, sizeof frame.context.x);
    memcpy(machine->f, frame.context.f, sizeof frame.context.f);
    machine->fcsr = frame.context.fcsr & 0xff;
    linux_state_of(machine)->blocked = frame.context.mask;
    if (blocks_set_rounding(&machine->blocks, machine->fcsr >> 5))
        blocks_flush(&machine->blocks);
    profiling_signal_out(machine);
}

int64_t linux_rt_sigaction(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t number = arguments[0];
    struct linux_action action;

    if (number < 1 || number > LINUX_SIGNALS || arguments[3] != 8)
        return -EINVAL;
    struct linux_action *kept = &linux_state_of(machine)->actions[number];
    if (arguments[1] && (number == SIGKILL || number == SIGSTOP))
        return -EINVAL;
    if (arguments[1] && !memory_read(&machine->memory, arguments[1], &action, sizeof action))
        return -EFAULT;
    if (arguments[2] && !memory_write(&machine->memory, arguments[2], kept, sizeof *kept))
        return -EFAULT;
    if (arguments[1])
        *kept = action;
    return 0;
}

int64_t linux_rt_sigprocmask(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t before = state->blocked, set = 0;

    if (arguments[1] && !memory_read(&machine->memory, arguments[1], &set, sizeof set))
        return -EFAULT;
    if (arguments[1]) {
        /* The kernel's numbers, the same on every architecture we meet. */
        enum { BLOCK, UNBLOCK, SET };
        if (arguments[0] > SET)
            return -EINVAL;
        state->blocked = arguments[0] == BLOCK     ? before | set
                         : arguments[0] == UNBLOCK ? before & ~set
                                                   : set;
        state->blocked &= ~(bit_of(SIGKILL) | bit_of(SIGSTOP));
    }
    if (arguments[2] && !memory_write(&machine->memory, arguments[2], &before, sizeof before))
        return -EFAULT;
    return 0;
}

int64_t linux_sigaltstack(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    struct {
        uint64_t start;
        uint32_t flags, padding;
        uint64_t size;
    } stack = {.start = state->alternate_start,
               .flags = state->alternate_size ? 0 : SS_DISABLE,
               .size = state->alternate_size};

    if (arguments[1] && !memory_write(&machine->memory, arguments[1], &stack, sizeof stack))
        return -EFAULT;
    if (!arguments[0])
        return 0;
    if (!memory_read(&machine->memory, arguments[0], &stack, sizeof stack))
        return -EFAULT;
    if (on_alternate_stack(state, machine->x[REGISTER_SP]))
        return -EPERM;
    state->alternate_start = stack.start;
    state->alternate_size = stack.flags & SS_DISABLE ? 0 : stack.size;
    return 0;
}

static int64_t send(struct riscv_machine *machine, int64_t process, uint64_t number)
{
    if (number > LINUX_SIGNALS)
        return -EINVAL;
    if (process != getpid())
        return kill((pid_t)process, (int)number) ? -errno : 0;
    if (number)
        linux_state_of(machine)->pending |= bit_of((int)number);
    return 0;
}

int64_t linux_kill(struct riscv_machine *machine, const uint64_t *arguments)
{
    return send(machine, (int32_t)arguments[0], arguments[1]);
}

int64_t linux_tgkill(struct riscv_machine *machine, const uint64_t *arguments)
{
    return send(machine, (int32_t)arguments[0], arguments[2]);
}

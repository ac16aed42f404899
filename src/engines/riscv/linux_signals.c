/*
 * linux_signals.c: signals: what the guest wants done with them, which are pending, and the frames
 * that handlers run on.
 *
 * A handler runs on the guest's stack, or its alternate one, over a frame as the kernel lays it
 * out, and returns through a trampoline that does rt_sigreturn. A signal is delivered when the
 * thread it is for has its turn, after a system call or between slices.
 */
#include "engines/riscv/linux.h"
#include "engines/riscv/profiling.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ACTION_DEFAULT 0
#define ACTION_IGNORE  1

/* struct rt_sigframe of the kernel. */
struct guest_frame {
    siginfo_t information; /* the same on every 64-bit Linux */
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

_Static_assert(sizeof(siginfo_t) == 128, "siginfo");
_Static_assert(offsetof(struct guest_frame, context.pc) == 128 + 176, "ucontext");

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

static bool on_alternate_stack(const struct linux_thread *thread, uint64_t sp)
{
    return sp - thread->alternate_start < thread->alternate_size;
}

static bool push_frame(struct riscv_machine *machine, const struct linux_action *action,
                       const siginfo_t *information)
{
    struct linux_thread *thread = linux_thread_of(machine);
    struct guest_frame frame = {.information = *information};
    uint64_t sp = machine->x[REGISTER_SP];
    int number = information->si_signo;
    bool alternate =
        action->flags & SA_ONSTACK && thread->alternate_size && !on_alternate_stack(thread, sp);

    if (alternate)
        sp = thread->alternate_start + thread->alternate_size;
    sp = (sp - sizeof frame) & ~15ull;
    frame.context.stack_start = thread->alternate_start;
    frame.context.stack_size = thread->alternate_size;
    frame.context.stack_flags = !thread->alternate_size                               ? SS_DISABLE
                                : on_alternate_stack(thread, machine->x[REGISTER_SP]) ? SS_ONSTACK
                                                                                      : 0;
    frame.context.mask = thread->restores_mask ? thread->restored_mask : thread->blocked;
    frame.context.pc = machine->pc;
    memcpy(frame.context.x, machine->x + 1, sizeof frame.context.x);
    memcpy(frame.context.f, machine->f, sizeof frame.context.f);
    frame.context.fcsr = machine->fcsr;
    if (!memory_write(&machine->memory, sp, &frame, sizeof frame))
        return false;
    profiling_signal_in(machine, (unsigned)number, alternate);
    thread->restores_mask = false;
    thread->blocked |= action->mask | (action->flags & SA_NODEFER ? 0 : linux_bit(number));
    machine->reserved_address = UINT64_MAX;
    machine->pc = action->handler;
    machine->x[REGISTER_RA] = linux_state_of(machine)->trampoline;
    machine->x[REGISTER_SP] = sp;
    machine->x[REGISTER_A0] = (uint64_t)number;
    machine->x[REGISTER_A0 + 1] = sp + offsetof(struct guest_frame, information);
    machine->x[REGISTER_A0 + 2] = sp + offsetof(struct guest_frame, context);
    return true;
}

bool linux_matters(const struct linux_state *state, int number)
{
    uint64_t handler = state->actions[number].handler;

    return handler != ACTION_IGNORE &&
           (handler != ACTION_DEFAULT || !is_ignored_by_default(number));
}

/* As the terminal's Ctrl-Z: the process stops, until it is told to go on. */
static bool stops_by_default(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU || number == SIGSTOP;
}

/* Acts on a signal that is not blocked. */
static bool deliver(struct riscv_machine *machine, const siginfo_t *information)
{
    struct linux_state *state = linux_state_of(machine);
    int number = information->si_signo;
    struct linux_action action = state->actions[number];

    if (!linux_matters(state, number))
        return true;
    if (action.handler == ACTION_DEFAULT && stops_by_default(number) &&
        machine->options.owns_process) {
        raise(SIGSTOP);
        return true;
    }
    if (action.handler != ACTION_DEFAULT && action.flags & SA_RESETHAND) {
        state->actions[number].handler = ACTION_DEFAULT;
        linux_host_action(machine, number);
    }
    if (action.handler == ACTION_DEFAULT || !push_frame(machine, &action, information)) {
        end_by_signal(machine, number,
                      information->si_code > 0 ? (uint64_t)information->si_addr : 0);
        return false;
    }
    return true;
}

bool linux_raise(struct riscv_machine *machine, int number, int code, uint64_t address)
{
    struct linux_state *state = linux_state_of(machine);
    siginfo_t information = {.si_signo = number, .si_code = code, .si_addr = (void *)address};

    /* A fault that is blocked or ignored cannot wait: it kills. */
    if (linux_thread_of(machine)->blocked & linux_bit(number) ||
        state->actions[number].handler == ACTION_IGNORE) {
        end_by_signal(machine, number, address);
        return false;
    }
    return deliver(machine, &information);
}

/* ---- pending ---- */

static bool is_for(const struct linux_pending *pending, const struct linux_thread *thread)
{
    return !pending->thread || pending->thread == thread->id;
}

uint64_t linux_pending_set(const struct linux_state *state, const struct linux_thread *thread)
{
    uint64_t set = 0;

    for (size_t i = 0; i < state->pending_count; i++)
        if (is_for(&state->pending[i], thread))
            set |= linux_bit(state->pending[i].information.si_signo);
    return set;
}

/* Of those for the thread the lowest number, and of its kind the oldest. */
bool linux_take_pending(struct linux_state *state, const struct linux_thread *thread,
                        uint64_t wanted, siginfo_t *information)
{
    size_t best = state->pending_count;

    for (size_t i = 0; i < state->pending_count; i++) {
        int number = state->pending[i].information.si_signo;
        if (is_for(&state->pending[i], thread) && wanted & linux_bit(number) &&
            (best == state->pending_count || number < state->pending[best].information.si_signo))
            best = i;
    }
    if (best == state->pending_count)
        return false;
    *information = state->pending[best].information;
    state->pending_count--;
    memmove(state->pending + best, state->pending + best + 1,
            (state->pending_count - best) * sizeof *state->pending);
    return true;
}

/* Who handles a signal to the process: the first thread if it can, else the next that can. */
static uint32_t choose_receiver(const struct linux_state *state, int number)
{
    for (size_t i = 0; i < state->thread_count; i++)
        if (!(state->threads[i]->blocked & linux_bit(number)) &&
            state->threads[i]->waits != WAITS_NEVER)
            return state->thread_count > 1 ? state->threads[i]->id : 0;
    return 0;
}

void linux_send(struct riscv_machine *machine, const siginfo_t *information, uint32_t thread)
{
    struct linux_state *state = linux_state_of(machine);
    int number = information->si_signo;
    uint64_t blocked = 0;

    for (size_t i = 0; i < state->thread_count; i++)
        blocked |= state->threads[i]->blocked;
    if (number == SIGCHLD)
        state->child_changed = true;
    if (!linux_matters(state, number) && !(blocked & linux_bit(number)))
        return;
    if (!thread)
        thread = choose_receiver(state, number);
    /* Of the old signals one is enough; the real-time ones queue. */
    for (size_t i = 0; number < SIGRTMIN - 2 && i < state->pending_count; i++)
        if (state->pending[i].information.si_signo == number && state->pending[i].thread == thread)
            return;
    if (state->pending_count < LINUX_MAX_PENDING)
        state->pending[state->pending_count++] =
            (struct linux_pending){.information = *information, .thread = thread};
}

void linux_deliver_pending(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);
    struct linux_thread *thread = linux_thread_of(machine);
    siginfo_t information;

    while (state->pending_count && machine->state.ending == RISCV_RUNNING &&
           linux_take_pending(state, thread, ~thread->blocked, &information))
        deliver(machine, &information);
    if (thread->restores_mask && thread->waits == WAITS_NOT) {
        thread->restores_mask = false;
        thread->blocked = thread->restored_mask;
    }
}

bool linux_restarts(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t ready = linux_pending_set(state, thread) & ~thread->blocked;

    for (int number = 1; number <= LINUX_SIGNALS; number++)
        if (ready & linux_bit(number) && state->actions[number].handler != ACTION_DEFAULT &&
            state->actions[number].handler != ACTION_IGNORE)
            return state->actions[number].flags & SA_RESTART;
    return true;
}

void linux_sigreturn(struct riscv_machine *machine)
{
    struct linux_thread *thread = linux_thread_of(machine);
    struct guest_frame frame;

    if (!memory_read(&machine->memory, machine->x[REGISTER_SP], &frame, sizeof frame)) {
        end_by_signal(machine, SIGSEGV, machine->x[REGISTER_SP]);
        return;
    }
    machine->pc = frame.context.pc;
    memcpy(machine->x + 1, frame.context.x, sizeof frame.context.x);
    memcpy(machine->f, frame.context.f, sizeof frame.context.f);
    machine->fcsr = frame.context.fcsr & 0xff;
    machine->reserved_address = UINT64_MAX;
    thread->blocked = frame.context.mask & ~(linux_bit(SIGKILL) | linux_bit(SIGSTOP));
    if (blocks_set_rounding(&machine->blocks, machine->fcsr >> 5))
        blocks_flush(&machine->blocks);
    profiling_signal_out(machine);
}

/* ---- calls ---- */

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
    if (arguments[1]) {
        *kept = action;
        linux_host_action(machine, (int)number);
    }
    return 0;
}

int64_t linux_rt_sigprocmask(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t before = thread->blocked, set = 0;

    if (arguments[1] && !memory_read(&machine->memory, arguments[1], &set, sizeof set))
        return -EFAULT;
    if (arguments[1]) {
        /* The kernel's numbers, the same on every architecture we meet. */
        enum { BLOCK, UNBLOCK, SET };
        if (arguments[0] > SET)
            return -EINVAL;
        thread->blocked = arguments[0] == BLOCK     ? before | set
                          : arguments[0] == UNBLOCK ? before & ~set
                                                    : set;
        thread->blocked &= ~(linux_bit(SIGKILL) | linux_bit(SIGSTOP));
    }
    if (arguments[2] && !memory_write(&machine->memory, arguments[2], &before, sizeof before))
        return -EFAULT;
    return 0;
}

int64_t linux_sigaltstack(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    struct {
        uint64_t start;
        uint32_t flags, padding;
        uint64_t size;
    } stack = {.start = thread->alternate_start,
               .flags = !thread->alternate_size                               ? SS_DISABLE
                        : on_alternate_stack(thread, machine->x[REGISTER_SP]) ? SS_ONSTACK
                                                                              : 0,
               .size = thread->alternate_size};

    if (arguments[1] && !memory_write(&machine->memory, arguments[1], &stack, sizeof stack))
        return -EFAULT;
    if (!arguments[0])
        return 0;
    if (!memory_read(&machine->memory, arguments[0], &stack, sizeof stack))
        return -EFAULT;
    if (on_alternate_stack(thread, machine->x[REGISTER_SP]))
        return -EPERM;
    thread->alternate_start = stack.start;
    thread->alternate_size = stack.flags & SS_DISABLE ? 0 : stack.size;
    return 0;
}

static siginfo_t information_of(int number, int code)
{
    return (siginfo_t){.si_signo = number, .si_code = code, .si_pid = getpid(), .si_uid = getuid()};
}

/* To the process itself, or to others as the host lets us. */
int64_t linux_kill(struct riscv_machine *machine, const uint64_t *arguments)
{
    int32_t process = (int32_t)arguments[0];
    int number = (int)arguments[1];
    siginfo_t information = information_of(number, SI_USER);

    if (arguments[1] > LINUX_SIGNALS)
        return -EINVAL;
    if (process != getpid() && !linux_find_thread(linux_state_of(machine), (uint32_t)process))
        return kill(process, number) ? -errno : 0;
    if (number)
        linux_send(machine, &information, 0);
    return 0;
}

static int64_t send_to_thread(struct riscv_machine *machine, uint64_t id, uint64_t number,
                              const siginfo_t *information)
{
    if (number > LINUX_SIGNALS)
        return -EINVAL;
    if (!linux_find_thread(linux_state_of(machine), (uint32_t)id))
        return -ESRCH;
    if (number)
        linux_send(machine, information, (uint32_t)id);
    return 0;
}

int64_t linux_tkill(struct riscv_machine *machine, const uint64_t *arguments)
{
    siginfo_t information = information_of((int)arguments[1], SI_TKILL);

    return send_to_thread(machine, arguments[0], arguments[1], &information);
}

int64_t linux_tgkill(struct riscv_machine *machine, const uint64_t *arguments)
{
    siginfo_t information = information_of((int)arguments[2], SI_TKILL);

    if ((int32_t)arguments[0] != getpid())
        return -ESRCH;
    return send_to_thread(machine, arguments[1], arguments[2], &information);
}

int64_t linux_rt_sigqueueinfo(struct riscv_machine *machine, const uint64_t *arguments)
{
    siginfo_t information;

    if (arguments[1] < 1 || arguments[1] > LINUX_SIGNALS)
        return -EINVAL;
    if (!memory_read(&machine->memory, arguments[2], &information, sizeof information))
        return -EFAULT;
    information.si_signo = (int)arguments[1];
    if ((int32_t)arguments[0] != getpid())
        return sigqueue((int32_t)arguments[0], (int)arguments[1], information.si_value) ? -errno
                                                                                        : 0;
    linux_send(machine, &information, 0);
    return 0;
}

int64_t linux_rt_tgsigqueueinfo(struct riscv_machine *machine, const uint64_t *arguments)
{
    siginfo_t information;

    if (!memory_read(&machine->memory, arguments[3], &information, sizeof information))
        return -EFAULT;
    information.si_signo = (int)arguments[2];
    return send_to_thread(machine, arguments[1], arguments[2], &information);
}

int64_t linux_rt_sigpending(struct riscv_machine *machine, const uint64_t *arguments)
{
    const struct linux_thread *thread = linux_thread_of(machine);
    uint64_t set = linux_pending_set(linux_state_of(machine), thread) & thread->blocked;

    return memory_write(&machine->memory, arguments[0], &set, sizeof set) ? 0 : -EFAULT;
}

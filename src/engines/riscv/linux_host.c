/*
 * linux_host.c: signals that come from outside: other processes, the terminal, timers, children.
 *
 * Only where the process is the guest's own (options.owns_process). A handler of the host's keeps
 * what comes until the guest's next call or the end of the slice; what the guest ignores, the host
 * ignores, so that programs it starts inherit that. The signals that tell of faults are not among
 * them: they are the machine's.
 */
#include "engines/riscv/linux.h"

#include <stdatomic.h>

#define KEPT 64 /* more than that at once are lost */

static siginfo_t arrived[KEPT];
static atomic_uint arrived_count, taken_count;
static struct sigaction actions_before[LINUX_SIGNALS + 1];

static void keep(int number, siginfo_t *information, void *context)
{
    unsigned place = arrived_count;

    (void)number, (void)context;
    if (place - taken_count == KEPT)
        return;
    arrived[place % KEPT] = *information;
    arrived_count = place + 1;
}

bool linux_host_has_news(void)
{
    return arrived_count != taken_count;
}

/* Faults are the machine's, and these cannot be caught; 32 and 33 are the host's C library's. */
static bool is_taken(int number)
{
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
    case SIGKILL:
    case SIGSTOP:
    case 32:
    case 33:
        return false;
    default:
        return true;
    }
}

/* Stopping and going on are left to the host while the guest does not care. */
static bool is_job_control(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU || number == SIGCONT;
}

const sigset_t *linux_host_signals(void)
{
    static sigset_t set;

    sigemptyset(&set);
    for (int number = 1; number <= LINUX_SIGNALS; number++)
        if (is_taken(number))
            sigaddset(&set, number);
    return &set;
}

static void take(int number)
{
    struct sigaction action = {.sa_sigaction = keep, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigfillset(&action.sa_mask); /* one at a time: `keep` is not made for more */
    sigaction(number, &action, NULL);
}

void linux_host_action(struct riscv_machine *machine, int number)
{
    uint64_t handler = linux_state_of(machine)->actions[number].handler;

    if (!machine->options.owns_process || !is_taken(number))
        return;
    if (handler == (uint64_t)SIG_IGN || (handler == (uint64_t)SIG_DFL && is_job_control(number)))
        signal(number, handler ? SIG_IGN : SIG_DFL);
    else
        take(number);
}

/* What the process ignores from the start, its program ignores. */
void linux_host_begin(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);

    if (!machine->options.owns_process)
        return;
    for (int number = 1; number <= LINUX_SIGNALS; number++) {
        if (!is_taken(number))
            continue;
        sigaction(number, NULL, &actions_before[number]);
        if (actions_before[number].sa_handler == SIG_IGN)
            state->actions[number].handler = (uint64_t)SIG_IGN;
        linux_host_action(machine, number);
    }
}

void linux_host_end(struct riscv_machine *machine)
{
    if (!machine->options.owns_process)
        return;
    for (int number = 1; number <= LINUX_SIGNALS; number++)
        if (is_taken(number))
            sigaction(number, &actions_before[number], NULL);
}

void linux_host_collect(struct riscv_machine *machine)
{
    while (linux_host_has_news()) {
        siginfo_t information = arrived[taken_count % KEPT];
        taken_count++;
        linux_send(machine, &information, 0);
    }
}

/*
 * linux_waiting.c: threads that wait for files, for time, for children or for signals.
 *
 * A call that cannot be answered yet notes in its thread what it waits for; its registers stay as
 * they are. Once that has happened the call is answered again, and told why. While another thread
 * can run, waiting ones are looked at when turns change; when none can, the host's ppoll waits for
 * all of them together.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t linux_await(struct riscv_machine *machine, enum linux_wait_kind kind, uint64_t deadline)
{
    struct linux_thread *thread = linux_thread_of(machine);

    thread->waits = kind;
    thread->deadline = deadline;
    thread->file_count = 0;
    return LINUX_WAITS;
}

int64_t linux_await_files(struct riscv_machine *machine, const struct pollfd *files, size_t count,
                          uint64_t deadline)
{
    struct linux_thread *thread = linux_thread_of(machine);

    linux_await(machine, WAITS_FILES, deadline);
    free(thread->files);
    thread->files = memory_allocate_zeroed(count ? count : 1, sizeof *files);
    if (count)
        memcpy(thread->files, files, count * sizeof *files);
    thread->file_count = count;
    return LINUX_WAITS;
}

int64_t linux_await_file(struct riscv_machine *machine, int file, short events)
{
    struct pollfd wanted = {.fd = file, .events = events};

    if (linux_thread_of(machine)->wake == WAKE_SIGNAL)
        return -EINTR;
    /* Alone it may as well wait in the host's call. */
    if (linux_state_of(machine)->thread_count < 2 || fcntl(file, F_GETFL) & O_NONBLOCK ||
        poll(&wanted, 1, 0))
        return 0;
    return linux_await_files(machine, &wanted, 1, LINUX_NEVER);
}

void linux_wake_thread(struct linux_thread *thread, enum linux_wake wake)
{
    thread->waits = WAITS_NOT;
    thread->wake = wake;
}

/* Signals, children, deadlines. True if the thread still waits. */
static bool looks_in_vain(const struct riscv_machine *machine, struct linux_thread *thread,
                          uint64_t now)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t pending = linux_pending_set(state, thread);

    if (thread->waits == WAITS_SIGNAL && pending & thread->signals)
        linux_wake_thread(thread, WAKE_READY);
    else if (pending & ~thread->blocked)
        linux_wake_thread(thread, WAKE_SIGNAL);
    else if (thread->waits == WAITS_CHILD && state->child_changed)
        linux_wake_thread(thread, WAKE_READY);
    else if (thread->deadline <= now)
        linux_wake_thread(thread, WAKE_EXPIRED);
    return thread->waits != WAITS_NOT;
}

struct gathering {
    struct pollfd *files;
    size_t count, capacity;
    uint64_t deadline; /* the first */
};

static void gather(struct gathering *all, const struct linux_thread *thread)
{
    for (size_t i = 0; i < thread->file_count; i++)
        *array_push(all->files, all->count, all->capacity) = thread->files[i];
    if (thread->deadline < all->deadline)
        all->deadline = thread->deadline;
}

/* The threads whose files are ready; in the order in which they were gathered. */
static void wake_ready(struct linux_state *state, const struct pollfd *files)
{
    for (size_t i = 0; i < state->thread_count; i++) {
        struct linux_thread *thread = state->threads[i];
        bool ready = false;
        if (thread->waits == WAITS_NOT || thread->waits == WAITS_NEVER)
            continue;
        for (size_t j = 0; j < thread->file_count; j++)
            ready |= (files++)->revents != 0;
        if (ready)
            linux_wake_thread(thread, WAKE_READY);
    }
}

/* Until a file is ready, a signal comes or the first deadline passes. */
static int wait_on_host(const struct gathering *all, uint64_t now)
{
    struct timespec left = {0}, *timeout = NULL;
    sigset_t before;

    if (all->deadline != LINUX_NEVER) {
        uint64_t nanoseconds = all->deadline - now;
        left = (struct timespec){.tv_sec = (time_t)(nanoseconds / 1000000000),
                                 .tv_nsec = (long)(nanoseconds % 1000000000)};
        timeout = &left;
    }
    /* Blocked while it is seen that none has come; ppoll lets them through. */
    sigprocmask(SIG_BLOCK, linux_host_signals(), &before);
    int ready = linux_host_has_news() ? -1 : ppoll(all->files, all->count, timeout, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ready;
}

static int wait_for_all(struct riscv_machine *machine, const struct gathering *all, bool block)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t now = linux_now(machine);
    struct timespec none = {0};

    if (!block)
        return all->count ? ppoll(all->files, all->count, &none, NULL) : 0;
    if (all->deadline <= now)
        return 0;
    bool jumps = machine->options.repeatable && all->deadline != LINUX_NEVER;
    int ready = jumps ? ppoll(all->files, all->count, &none, NULL) : wait_on_host(all, now);
    /* Nobody else has anything to do: the clock of a repeatable run goes on to the deadline. */
    if (jumps && !ready)
        state->slept += all->deadline - now;
    return ready;
}

void linux_look_at_waiters(struct riscv_machine *machine, bool block)
{
    struct linux_state *state = linux_state_of(machine);
    struct gathering all = {.deadline = LINUX_NEVER};
    uint64_t now = linux_now(machine);

    linux_host_collect(machine);
    for (size_t i = 0; i < state->thread_count; i++) {
        struct linux_thread *thread = state->threads[i];
        if (thread->waits == WAITS_NOT || thread->waits == WAITS_NEVER)
            continue;
        if (looks_in_vain(machine, thread, now))
            gather(&all, thread);
        else
            block = false;
    }
    state->child_changed = false;
    if (machine->state.ending == RISCV_RUNNING && wait_for_all(machine, &all, block) > 0)
        wake_ready(state, all.files);
    free(all.files);
}

/* ---- calls ---- */

bool linux_borrow_mask(struct riscv_machine *machine, uint64_t address)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t mask;

    if (!address || thread->wake != WAKE_NONE)
        return true;
    if (!memory_read(&machine->memory, address, &mask, sizeof mask))
        return false;
    thread->restored_mask = thread->blocked;
    thread->restores_mask = true;
    thread->blocked = mask & ~(linux_bit(SIGKILL) | linux_bit(SIGSTOP));
    return true;
}

int64_t linux_ppoll(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    struct pollfd *files = linux_pointer(machine, arguments[0]);
    uint64_t deadline = thread->deadline, count = arguments[1];

    if (count > 1 << 16)
        return -EINVAL;
    if (!memory_allows(&machine->memory, arguments[0], count * sizeof *files, MEMORY_WRITE))
        return -EFAULT;
    if (thread->wake == WAKE_NONE &&
        !linux_deadline(machine, arguments[2], false, false, &deadline))
        return -EINVAL;
    if (!linux_borrow_mask(machine, arguments[3]))
        return -EFAULT;
    int ready = poll(files, count, 0);
    if (ready || thread->wake == WAKE_EXPIRED)
        return ready < 0 ? -errno : ready;
    if (thread->wake == WAKE_SIGNAL)
        return -EINTR;
    return linux_await_files(machine, files, count, deadline);
}

/* select is poll: of the three sets, a bit means an event. */
static const short set_events[] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
static const short set_asks[] = {POLLIN, POLLOUT, POLLPRI};

static size_t files_of_sets(const uint64_t *const sets[3], unsigned count, struct pollfd *files)
{
    size_t found = 0;

    for (unsigned file = 0; file < count; file++) {
        short events = 0;
        for (unsigned i = 0; i < 3; i++)
            if (sets[i] && sets[i][file / 64] >> file % 64 & 1)
                events |= set_asks[i];
        if (events)
            files[found++] = (struct pollfd){.fd = (int)file, .events = events};
    }
    return found;
}

static int64_t answer_select(uint64_t *const sets[3], unsigned count, const struct pollfd *files,
                             size_t file_count)
{
    int64_t bits = 0;

    for (unsigned i = 0; i < 3; i++) {
        if (!sets[i])
            continue;
        memset(sets[i], 0, (count + 63) / 64 * 8);
        for (size_t j = 0; j < file_count; j++)
            if (files[j].events & set_asks[i] && files[j].revents & set_events[i]) {
                sets[i][files[j].fd / 64] |= 1ull << files[j].fd % 64;
                bits++;
            }
    }
    for (size_t j = 0; j < file_count; j++)
        if (files[j].revents & POLLNVAL)
            return -EBADF;
    return bits;
}

int64_t linux_pselect6(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t deadline = thread->deadline, mask[2] = {0};
    unsigned count = (unsigned)arguments[0];
    uint64_t *sets[3];
    struct pollfd files[1024];

    if (arguments[0] > 1024)
        return -EINVAL;
    for (unsigned i = 0; i < 3; i++) {
        sets[i] = linux_pointer(machine, arguments[1 + i]);
        if (sets[i] &&
            !memory_allows(&machine->memory, arguments[1 + i], (count + 63) / 64 * 8, MEMORY_WRITE))
            return -EFAULT;
    }
    if (arguments[5] && !memory_read(&machine->memory, arguments[5], mask, sizeof mask))
        return -EFAULT;
    if (thread->wake == WAKE_NONE &&
        !linux_deadline(machine, arguments[4], false, false, &deadline))
        return -EINVAL;
    if (!linux_borrow_mask(machine, mask[0]))
        return -EFAULT;
    size_t file_count = files_of_sets((const uint64_t *const *)sets, count, files);
    int ready = poll(files, file_count, 0);
    if (ready || thread->wake == WAKE_EXPIRED)
        return ready < 0 ? -errno : answer_select(sets, count, files, file_count);
    if (thread->wake == WAKE_SIGNAL)
        return -EINTR;
    return linux_await_files(machine, files, file_count, deadline);
}

int64_t linux_rt_sigsuspend(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);

    if (thread->wake == WAKE_SIGNAL)
        return -EINTR;
    if (!arguments[0] || !linux_borrow_mask(machine, arguments[0]))
        return -EFAULT;
    thread->signals = 0;
    return linux_await(machine, WAITS_SIGNAL, LINUX_NEVER);
}

int64_t linux_rt_sigtimedwait(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t deadline = thread->deadline, wanted;
    siginfo_t information;

    if (!memory_read(&machine->memory, arguments[0], &wanted, sizeof wanted))
        return -EFAULT;
    if (thread->wake == WAKE_NONE &&
        !linux_deadline(machine, arguments[2], false, false, &deadline))
        return -EINVAL;
    if (linux_take_pending(linux_state_of(machine), thread, wanted, &information)) {
        if (arguments[1] &&
            !memory_write(&machine->memory, arguments[1], &information, sizeof information))
            return -EFAULT;
        return information.si_signo;
    }
    if (thread->wake == WAKE_EXPIRED || deadline <= linux_now(machine))
        return -EAGAIN;
    if (thread->wake == WAKE_SIGNAL)
        return -EINTR;
    thread->signals = wanted;
    return linux_await(machine, WAITS_SIGNAL, deadline);
}

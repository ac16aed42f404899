/*
 * linux_threads.c: the guest's threads, and whose turn it is.
 *
 * All of them run on one thread of the host, in turns of a fixed number of instructions, in the
 * order in which they were created. A turn ends early only where a thread gives it up: it waits,
 * yields or ends. So what threads do to each other depends on nothing but the program, and a run
 * with threads can be repeated. The thread whose turn it is has its registers in the machine; it
 * is never one that waits.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include "engines/riscv/profiling.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long enough to cost nothing, short enough for those who wait by looking again and again. */
#define TURN_INSTRUCTIONS (1u << 16)

#define REGISTER_TP 4

static void save(const struct riscv_machine *machine, struct linux_thread *thread)
{
    memcpy(thread->x, machine->x, sizeof thread->x);
    memcpy(thread->f, machine->f, sizeof thread->f);
    thread->pc = machine->pc;
    thread->fcsr = machine->fcsr;
}

static void load(struct riscv_machine *machine, const struct linux_thread *thread)
{
    memcpy(machine->x, thread->x, sizeof thread->x);
    memcpy(machine->f, thread->f, sizeof thread->f);
    machine->pc = thread->pc;
    machine->fcsr = thread->fcsr;
    machine->reserved_address = UINT64_MAX; /* as after any switch: sc fails */
    if (blocks_set_rounding(&machine->blocks, machine->fcsr >> 5))
        blocks_flush(&machine->blocks);
    profiling_thread_switch(machine, thread->profile);
}

static struct linux_thread *add_thread(struct linux_state *state, uint32_t id)
{
    struct linux_thread *thread = memory_allocate_zeroed(1, sizeof *thread);

    thread->id = id;
    *array_push(state->threads, state->thread_count, state->thread_capacity) = thread;
    return thread;
}

static void free_thread(struct linux_thread *thread)
{
    free(thread->files);
    free(thread);
}

void linux_threads_begin(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);

    state->last_id = (uint32_t)getpid();
    add_thread(state, state->last_id);
}

void linux_threads_end(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);

    for (size_t i = 0; i < state->thread_count; i++)
        free_thread(state->threads[i]);
    free(state->threads);
}

struct linux_thread *linux_find_thread(const struct linux_state *state, uint32_t id)
{
    for (size_t i = 0; i < state->thread_count; i++)
        if (state->threads[i]->id == id)
            return state->threads[i];
    return NULL;
}

/* ---- turns ---- */

static void begin_turn(struct riscv_machine *machine)
{
    linux_state_of(machine)->turn_end = machine_retired(machine) + TURN_INSTRUCTIONS;
}

/* The next one after the place that can run; thread_count if none can. */
static size_t find_runnable(const struct linux_state *state, size_t place)
{
    for (size_t i = 1; i <= state->thread_count; i++) {
        size_t candidate = (place + i) % state->thread_count;
        if (state->threads[candidate]->waits == WAITS_NOT)
            return candidate;
    }
    return state->thread_count;
}

static void remove_thread(struct linux_state *state, size_t place)
{
    free_thread(state->threads[place]);
    memmove(state->threads + place, state->threads + place + 1,
            (state->thread_count - place - 1) * sizeof *state->threads);
    state->thread_count--;
    if (state->turn > place)
        state->turn--;
}

bool linux_choose_next(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);
    size_t before = state->turn, next = state->thread_count;

    save(machine, state->threads[before]);
    linux_look_at_waiters(machine, false);
    while (machine->state.ending == RISCV_RUNNING &&
           (next = find_runnable(state, before)) == state->thread_count)
        linux_look_at_waiters(machine, true);
    if (machine->state.ending != RISCV_RUNNING)
        return false;
    if (next != before) {
        state->turn = next;
        load(machine, state->threads[next]);
    }
    if (state->threads[before]->waits == WAITS_NEVER)
        remove_thread(state, before);
    begin_turn(machine);
    return true;
}

uint64_t linux_take_turn(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);

    linux_host_collect(machine);
    if (state->thread_count > 1 && machine_retired(machine) >= state->turn_end &&
        linux_choose_next(machine) && linux_thread_of(machine)->wake != WAKE_NONE)
        linux_answer(machine);
    linux_deliver_pending(machine);
    if (machine->state.ending != RISCV_RUNNING)
        return 0;
    return state->thread_count > 1 ? state->turn_end - machine_retired(machine) : UINT64_MAX;
}

int64_t linux_sched_yield(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);

    (void)arguments;
    /* The turn is over, but the call is not: a0 is still to be set. */
    state->turn_end = machine_retired(machine);
    machine->leaves_slice = true;
    return 0;
}

/* ---- beginning and end ---- */

static int64_t start_thread(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    const struct linux_thread *creator = linux_thread_of(machine);
    uint64_t flags = arguments[0];
    uint32_t id = state->last_id + 1;

    if (flags & CLONE_PARENT_SETTID &&
        !memory_write(&machine->memory, arguments[2], &id, sizeof id))
        return -EFAULT;
    if (flags & CLONE_CHILD_SETTID && !memory_write(&machine->memory, arguments[4], &id, sizeof id))
        return -EFAULT;
    struct linux_thread *thread = add_thread(state, id);
    state->last_id = id;
    save(machine, thread);
    thread->x[REGISTER_A0] = 0;
    if (arguments[1])
        thread->x[REGISTER_SP] = arguments[1];
    if (flags & CLONE_SETTLS)
        thread->x[REGISTER_TP] = arguments[3];
    if (flags & CLONE_CHILD_CLEARTID)
        thread->clear_id = arguments[4];
    thread->blocked = creator->blocked;
    memcpy(thread->name, creator->name, sizeof thread->name);
    thread->profile = profiling_thread_new(machine, thread->x[REGISTER_SP]);
    if (state->thread_count == 2) {
        begin_turn(machine);
        machine->leaves_slice = true;
    }
    return id;
}

static int64_t start_process(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t flags = arguments[0];
    int64_t child = linux_fork(machine);

    if (child > 0 && flags & CLONE_PARENT_SETTID) {
        uint32_t id = (uint32_t)child;
        memory_write(&machine->memory, arguments[2], &id, sizeof id);
    }
    if (child)
        return child;
    struct linux_thread *thread = linux_thread_of(machine);
    if (flags & CLONE_CHILD_SETTID)
        memory_write(&machine->memory, arguments[4], &thread->id, sizeof thread->id);
    thread->clear_id = flags & CLONE_CHILD_CLEARTID ? arguments[4] : 0;
    if (arguments[1])
        machine->x[REGISTER_SP] = arguments[1];
    if (flags & CLONE_SETTLS)
        machine->x[REGISTER_TP] = arguments[3];
    return 0;
}

int64_t linux_clone(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t flags = arguments[0];
    const uint64_t together = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;

    if ((flags & together) == together)
        return start_thread(machine, arguments);
    /* Memory that two processes share for good is more than a fork can give; a vfork's child only
     * borrows it, and does without. */
    if (flags & CLONE_THREAD || (flags & CLONE_VM && !(flags & CLONE_VFORK)))
        return -EINVAL;
    return start_process(machine, arguments);
}

void linux_threads_forked(struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);
    struct linux_thread *thread = linux_thread_of(machine);

    for (size_t i = 0; i < state->thread_count; i++)
        if (state->threads[i] != thread)
            free_thread(state->threads[i]);
    state->threads[0] = thread;
    state->thread_count = 1;
    state->turn = 0;
    state->pending_count = 0;
    thread->id = state->last_id = (uint32_t)getpid();
}

/* exit: of the thread, and with the last one of the process, whose status is the first one's. */
int64_t linux_exit(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    struct linux_thread *thread = linux_thread_of(machine);
    int status = (int)(arguments[0] & 0xff);
    uint32_t zero = 0;

    if (thread->id == (uint32_t)getpid())
        state->leader_status = status;
    if (state->thread_count == 1) {
        machine_stop(machine, RISCV_EXITED, state->leader_status, "%s", "");
        return 0;
    }
    if (thread->clear_id && memory_write(&machine->memory, thread->clear_id, &zero, sizeof zero))
        linux_futex_wake(machine, thread->clear_id, 1, UINT32_MAX);
    profiling_thread_end(machine, thread->profile);
    thread->waits = WAITS_NEVER;
    return LINUX_WAITS;
}

int64_t linux_gettid(struct riscv_machine *machine, const uint64_t *arguments)
{
    (void)arguments;
    return linux_thread_of(machine)->id;
}

int64_t linux_set_tid_address(struct riscv_machine *machine, const uint64_t *arguments)
{
    linux_thread_of(machine)->clear_id = arguments[0];
    return linux_thread_of(machine)->id;
}

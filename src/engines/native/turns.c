/* turns.c: see turns.h. */
#include "engines/native/turns.h"
#include "core/raw.h"
#include "engines/native/assemble.h"
#include "engines/native/lines.h"
#include "engines/native/order.h"
#include "engines/native/record.h"
#include "engines/native/repeatable.h"
#include "engines/native/sys.h"
#include "engines/native/threads.h"
#include "engines/native/translate.h"
#include "engines/native/translation.h"
#include <linux/futex.h>

#define LONGEST_LEASE 100000
#define UNLIMITED     (INT64_MAX / 2) /* far from overflow: see turns_next */

static struct {
    uint32_t next, serving; /* tickets */
    int64_t left;           /* of the budget, and in no lease */
    uint64_t executed;
    uint64_t next_checkpoint;
    int64_t longest;
} turns;

bool turns_are_on(void)
{
    return options.budget || options.checkpoint || order_is_on();
}

/* Before there are threads: with a budget the first one has turns too. */
static void begin_order(void)
{
    if (options.repeatable && (options.budget || options.checkpoint))
        order_begin(NULL);
}

void turns_init(void)
{
    begin_order();
    turns.left = options.budget ? options.budget : UNLIMITED;
    turns.next_checkpoint = options.checkpoint ? options.checkpoint : UINT64_MAX;
    turns.longest = LONGEST_LEASE;
    if (options.checkpoint && options.checkpoint < LONGEST_LEASE)
        turns.longest = options.checkpoint + INSTRUCTIONS_MAX;
}

void turns_forked(struct native_thread *thread)
{
    turns.next = turns.serving = 0;
    order_forked(thread);
    begin_order();
    thread->lease = thread->lease_given = 0;
}

static void write_checkpoint(void)
{
    if (turns.executed < turns.next_checkpoint)
        return;
    turns.next_checkpoint = turns.executed + options.checkpoint;
    lock_take(&cache.lock);
    record_write(RAW_CHECKPOINT, 0);
    lock_give(&cache.lock);
}

static void take_ticket(void)
{
    uint32_t ticket = __atomic_fetch_add(&turns.next, 1, __ATOMIC_RELAXED), serving;
    while ((serving = __atomic_load_n(&turns.serving, __ATOMIC_ACQUIRE)) != ticket)
        sys(futex, &turns.serving, FUTEX_WAIT_PRIVATE, serving, 0, 0, 0);
}

void turns_take(struct native_thread *thread)
{
    if (!turns_are_on())
        return;
    if (options.repeatable)
        order_take(thread);
    else
        take_ticket();
    write_checkpoint();
    thread->lease = thread->lease_given = turns.left < turns.longest ? turns.left : turns.longest;
    turns.left -= thread->lease;
}

void turns_give(struct native_thread *thread)
{
    if (!turns_are_on())
        return;
    turns.left += thread->lease;
    uint64_t executed = thread->lease_given - thread->lease;
    turns.executed += executed;
    thread->lease = thread->lease_given = 0;
    if (options.repeatable) {
        repeatable_pass((int64_t)executed > 0 ? executed : 0);
        order_give(thread);
        return;
    }
    __atomic_fetch_add(&turns.serving, 1, __ATOMIC_RELEASE);
    sys(futex, &turns.serving, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

void turns_emit(struct translation *t, unsigned first, unsigned instructions)
{
    struct emitter *e = &t->code;
    bool flags = !flags_dead(t, first);
    uint32_t id = new_exit(t, first, EXIT_LEASE, t->pc + t->offsets[first]);
    cache.exits[id].site = instructions;
    struct emitter cold = cold_begin();
    uint64_t too_short = cold.address;
    if (flags)
        restore_flags(&cold);
    emit_unspill(&cold, RAX);
    emit_stub(&cold, id);
    cold_end(&cold);

    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    emit_bytes(e, "\x65\x48\x83\x2c\x25", 5); /* sub qword gs:[lease], instructions */
    emit_u32(e, FIELD(lease));
    emit_byte(e, instructions);
    jump_if(e, IF_SIGN, too_short);
    if (flags)
        restore_flags(e);
    emit_unspill(e, RAX);
}

/* A child of vfork whose process is ending asks while others of it still give back: of two sums at
 * the same time one is lost, and there may be less than nothing left. */
struct block *turns_next(struct native_thread *thread, unsigned instructions)
{
    turns_take_back(thread, instructions);
    thread->is_outside = true;
    lock_give(&cache.lock);
    turns_give(thread);
    turns_take(thread);
    lock_take(&cache.lock);
    thread->is_outside = false;
    if (thread->lease >= instructions)
        return thread_enter_block(thread);
    if (thread->lease <= 0)
        turns_end_of_budget(thread);
    return translate_part(thread->pc, thread->lease);
}

/* What is left of the lease belongs to the branch that ends the segment and the PLT stub that is
 * folded into it: no reason to run them. */
static void count_rest(struct native_thread *thread)
{
    unsigned rest = thread->lease > 0 ? thread->lease : 0;
    thread->lease = 0;
    if (!options.line_detail)
        thread->instructions += rest;
    else
        lines_count_path(thread, thread->pc, rest);
}

void turns_end_of_budget(struct native_thread *thread)
{
    count_rest(thread);
    record_write(RAW_BUDGET, 0);
    if (thread->is_vfork) /* its maker will find that there is nothing left */
        threads_give_all(thread);
    for (;;)
        sys(exit_group, 0);
}

/*
 * threads.c: see threads.h.
 *
 * Three ways to begin, by what the new thread shares with its maker:
 *
 *   memory (threads, vfork, posix_spawn)  a record and an engine stack of its own; it starts in
 *                                         thread_clone_child, before it runs anything else
 *   nothing (fork)                        goes on where its maker does, in its own copy of the
 *                                         engine; the code cache is not inherited but begun anew
 *
 * Signals are blocked from before the system call until the new thread has its gs: the handler
 * finds the thread by it. A thread's record and stack are used again once the thread has said,
 * with its very last store, that it is through with them.
 */
#include "engines/native/threads.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/children.h"
#include "engines/native/fast.h"
#include "engines/native/files.h"
#include "engines/native/gate.h"
#include "engines/native/leaves.h"
#include "engines/native/line_counters.h"
#include "engines/native/lines.h"
#include "engines/native/maps.h"
#include "engines/native/order.h"
#include "engines/native/python_codes.h"
#include "engines/native/record.h"
#include "engines/native/returns.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/turns.h"
#include <asm/prctl.h>
#include <errno.h>
#include <linux/sched.h>
#include <linux/time.h>
#include <sys/mman.h>

static struct native_thread *all; /* newest first; guarded by the cache's lock */
static uint32_t live_count;

/* Who has one may wait for those behind it. */
static struct lock *const all_locks[] = {&cache.lock, &actions_lock, &heap_lock,
                                         &maps_lock,  &arena_lock,   &files_lock};
#define LOCKS (sizeof all_locks / sizeof *all_locks)

/* entry.S: the system call `number`; in the child gs is set and thread_clone_child called. */
long thread_clone(long number, const uint64_t *arguments, struct native_thread *child);
_Noreturn void thread_end(uint32_t *free_mark, long status);
void thread_clone_child(struct native_thread *thread) __attribute__((noreturn));

void thread_set_gs(struct native_thread *thread)
{
    sys(arch_prctl, ARCH_SET_GS, thread);
}

/* Pages that were never used cost nothing. */
static void forget_children(const struct native_thread *thread)
{
    sys(madvise, thread->children, CHILD_SLOTS * sizeof *thread->children, MADV_DONTNEED);
    sys(madvise, (uint64_t)thread + THREAD_SITES, THREAD_BYTES - THREAD_SITES, MADV_DONTNEED);
}

static struct native_thread *record_new(void)
{
    for (struct native_thread *old = all; old; old = old->next)
        if (__atomic_load_n(&old->is_free, __ATOMIC_ACQUIRE)) {
            struct native_thread fresh = {
                .next = old->next,
                .stack_top = old->stack_top,
                .signal_stack = old->signal_stack,
                .children = old->children,
                .lines = old->lines,
                .python_codes = old->python_codes,
                .python_calls = old->python_calls,
                .python_lines = old->python_lines,
            };
            *old = fresh;
            forget_children(old);
            return old;
        }
    struct native_thread *thread = arena_allocate(THREAD_BYTES);
    thread->stack_top = (uint64_t)arena_allocate(ENGINE_STACK_BYTES) + ENGINE_STACK_BYTES;
    thread->children = arena_allocate(CHILD_SLOTS * sizeof *thread->children);
    if (options.line_detail)
        thread->lines = arena_allocate(LINE_SLOTS * sizeof *thread->lines);
    thread->next = all;
    all = thread;
    return thread;
}

static struct native_thread *thread_new(uint64_t stack_pointer)
{
    struct native_thread *thread = record_new();
    thread->self = thread;
    fast_init_thread(thread);
    thread->generation = cache.generation;
    thread->leaf_calls = 1;
    thread->flags = 0x202;
    thread->registers[REGISTER_RSP] = stack_pointer;
    live_count++;
    return thread;
}

static void begin_stack(struct native_thread *thread)
{
    thread->thread = core_thread_new(&core, thread->registers[REGISTER_RSP]);
    thread->hot = *thread->thread->hot;
    thread->thread->hot = &thread->hot;
}

struct native_thread *threads_first(uint64_t stack_pointer)
{
    struct native_thread *thread = thread_new(stack_pointer);
    fast_leave_by(thread, false); /* the kernel has cleared all registers */
    begin_stack(thread);
    thread->tid = sys(gettid);
    thread->actions = signals_new_actions(NULL);
    thread_set_gs(thread);
    signals_init_thread(thread);
    return thread;
}

/* One that waits with a leaf has its frame from now on; of one that runs, nothing is known. */
static void settle(struct native_thread *thread)
{
    if (!options.line_detail && thread->leaf_instructions &&
        !__atomic_load_n(&thread->in_cache, __ATOMIC_ACQUIRE))
        leaves_make_frame(thread, false);
    record_settle(thread);
    lines_flush(thread);
}

static bool is_running(const struct native_thread *thread)
{
    return !__atomic_load_n(&thread->is_free, __ATOMIC_ACQUIRE) && !thread->ended &&
           __atomic_load_n(&thread->in_cache, __ATOMIC_ACQUIRE);
}

static bool others_run(void)
{
    for (struct native_thread *thread = all; thread; thread = thread->next)
        if (thread != thread_self() && is_running(thread))
            return true;
    return false;
}

/* What a thread has counted is in its registers while it runs in the cache. It leaves when no
 * block leads to another, and waits for the cache's lock, which is held. One that does not get to
 * run in the meantime is not waited for any longer. */
static void stop_others(void)
{
    struct timespec pause = {.tv_nsec = 50000};
    if (!others_run())
        return;
    cache_unlink_all();
    for (unsigned i = 0; i < 10000 && others_run(); i++)
        sys(nanosleep, &pause, NULL);
}

void threads_settle_all(void)
{
    stop_others();
    for (struct native_thread *thread = all; thread; thread = thread->next)
        if (!thread->is_free && !thread->ended)
            settle(thread);
    line_counters_flush(live_count == 1);
}

bool threads_have_renewed(const struct native_thread *but)
{
    for (const struct native_thread *thread = all; thread; thread = thread->next) {
        bool runs =
            thread != but && !thread->ended && !__atomic_load_n(&thread->is_free, __ATOMIC_ACQUIRE);
        if (runs && !thread->is_outside && thread->generation != cache.generation)
            return false;
    }
    return true;
}

void threads_catch_up(struct native_thread *thread)
{
    thread->plane_changed = false;
    record_settle(thread);
    core_resume(&core, thread->thread);
}

/* The others wait for the lock, and catch up when they have it. One that could not be stopped has no
 * children any more, so that it leaves the cache at its next call. */
void threads_change_plane(struct native_thread *thread)
{
    stop_others();
    for (struct native_thread *other = all; other; other = other->next) {
        if (other == thread || other->is_free || other->ended)
            continue;
        other->plane_changed = true;
        forget_children(other);
    }
    for (uint32_t i = 0; live_count > 1 && i < core.tree.count; i++)
        tree_forget_children(&core.tree, tree_context(&core.tree, i));
    threads_catch_up(thread);
}

void threads_forget_children(void)
{
    for (struct native_thread *thread = all; thread; thread = thread->next)
        if (!thread->is_free && !thread->ended)
            forget_children(thread);
}

void threads_forget_leaves(void)
{
    for (struct native_thread *thread = all; thread; thread = thread->next)
        if (!thread->is_free && !thread->ended)
            leaves_forget(thread);
}

bool threads_is_last(const struct native_thread *thread)
{
    return !thread->is_vfork && live_count == 1;
}

void threads_share_filters(const struct native_thread *thread)
{
    lock_take(&cache.lock);
    for (struct native_thread *other = all; other; other = other->next)
        if (!other->is_free && !other->is_vfork)
            other->filters = thread->filters;
    lock_give(&cache.lock);
}

void threads_forget_code(uint64_t code)
{
    for (struct native_thread *thread = all; thread; thread = thread->next)
        python_forget(thread, code);
}

void threads_forget_others(struct native_thread *thread)
{
    all = thread;
    thread->next = NULL;
    live_count = 1;
}

/* ---- threads that share memory ---- */

void thread_clone_child(struct native_thread *thread)
{
    thread->tid = sys(gettid);
    signals_init_thread(thread);
    if (thread->clears_handlers)
        signals_install_all(thread);
    signals_set_mask(thread->held_mask);
    thread_start(thread);
}

/* A vfork child goes on in its maker's call path, while the maker waits: it has the maker's
 * thread of the core for as long, and gives back the stack as it was. */
static void lend_stack(struct native_thread *maker, struct native_thread *child)
{
    struct stack *stack = maker->thread->stack;
    record_settle(maker);
    child->lender = maker;
    child->thread = maker->thread;
    child->lent_stack = stack;
    child->lent_count = maker->hot.top - stack->base;
    child->lent_entries = arena_allocate(child->lent_count * sizeof *child->lent_entries);
    memcpy(child->lent_entries, stack->base, child->lent_count * sizeof *child->lent_entries);
    child->hot = maker->hot;
    child->thread->hot = &child->hot;
}

/* Landings may have gone with their blocks, which nobody told the copies of. */
static void give_stack_back(struct native_thread *child)
{
    struct native_thread *maker = child->lender;
    size_t size = child->lent_count * sizeof *child->lent_entries;
    maker->thread->stack = child->lent_stack;
    for (size_t i = 0; i < child->lent_count; i++)
        child->lent_entries[i].code = core.no_landing;
    memcpy(child->lent_stack->base, child->lent_entries, size);
    arena_release(child->lent_entries, size);
    maker->hot.top = child->lent_stack->base + child->lent_count;
    maker->hot.limit = child->lent_stack->limit;
    maker->hot.base = child->lent_stack->base;
    maker->thread->hot = &maker->hot;
}

/* A program's first thread with --repeatable: from now on code asks for its turn. */
static void begin_turns(struct native_thread *maker, uint64_t flags)
{
    if (!options.repeatable || order_is_on() || !(flags & CLONE_THREAD))
        return;
    bool already = turns_are_on();
    order_begin(maker);
    if (!already)
        cache_next_generation();
}

/* Everything of the maker's that the child begins with. */
static struct native_thread *child_of(struct native_thread *maker, uint64_t flags, uint64_t sp)
{
    if (!sp)
        sp = maker->registers[REGISTER_RSP];
    lock_take(&cache.lock);
    begin_turns(maker, flags);
    if (!(flags & CLONE_VFORK))
        locks_share();
    struct native_thread *child = thread_new(sp);
    fast_leave_by(child, vectors_upper_in_use(maker));
    if (flags & CLONE_VFORK)
        lend_stack(maker, child);
    else
        begin_stack(child);
    lock_give(&cache.lock);
    memcpy(child->registers, maker->registers, sizeof child->registers);
    child->registers[REGISTER_RSP] = sp;
    child->registers[REGISTER_RAX] = 0;
    child->registers[REGISTER_RCX] = maker->pc;
    child->registers[REGISTER_R11] = child->flags = maker->flags;
    child->pc = maker->pc;
    child->is_vfork = (flags & CLONE_VM) && !(flags & CLONE_THREAD);
    child->filters = maker->filters;
    child->is_strict = maker->is_strict;
    child->actions = maker->actions;
    if (!(flags & CLONE_SIGHAND))
        child->actions = signals_new_actions(maker);
    if (flags & CLONE_CLEAR_SIGHAND) {
        signals_clear_actions(child);
        child->clears_handlers = true;
    }
    if (flags & CLONE_VFORK) /* the stack the maker was given stays its own */
        child->alternate = maker->alternate;
    return child;
}

/* What a lock guards may be half changed, if the child was killed with it held. */
static void look_at_locks(const struct native_thread *child)
{
    for (unsigned i = 0; i < LOCKS; i++)
        if (lock_was_left_by(all_locks[i], child))
            fail("a child of vfork was killed while it changed what the engine knows of this "
                 "process, too; try again, or use --engine=valgrind",
                 NULL);
}

void threads_give_all(struct native_thread *child)
{
    for (unsigned i = LOCKS; i-- > 0;)
        if (lock_was_left_by(all_locks[i], child))
            lock_give(all_locks[i]);
    if (!child->is_outside)
        turns_give(child);
}

static void child_is_over(struct native_thread *child)
{
    lock_take(&cache.lock);
    if (!child->ended) {
        settle(child);
        if (child->lender)
            give_stack_back(child);
        else
            core_thread_end(&core, child->thread);
        child->ended = true;
        live_count--;
    }
    __atomic_store_n(&child->is_free, 1, __ATOMIC_RELEASE);
    lock_give(&cache.lock);
}

static long start_sharing(struct native_thread *maker, long number, uint64_t *arguments,
                          uint64_t flags, struct native_thread *child)
{
    child->held_mask = signals_set_mask(SIGNALS_ALL);
    if (maker->pending) {
        signals_set_mask(child->held_mask);
        child_is_over(child);
        return SYSCALL_NOT_BEGUN;
    }
    uint64_t mask = child->held_mask;
    order_expect(maker, child, flags & CLONE_VFORK);
    long result = thread_clone(number, arguments, child);
    signals_set_mask(mask);
    if (flags & CLONE_VFORK)
        look_at_locks(child);
    if (sys_failed(result) || (flags & CLONE_VFORK))
        order_expect_no_more(maker, child);
    /* The kernel lets the maker go on when the vfork child is gone. */
    if (sys_failed(result) || (flags & CLONE_VFORK))
        child_is_over(child);
    return result;
}

/* ---- fork ---- */

/* The child has none of the threads that would give back what they hold. */
static void take_all_locks(void)
{
    for (unsigned i = 0; i < LOCKS; i++)
        lock_take(all_locks[i]);
}

static void give_all_but_the_caches(void)
{
    for (unsigned i = LOCKS; i-- > 1;)
        lock_give(all_locks[i]);
}

static long start_copy(struct native_thread *maker, long number, uint64_t *arguments, uint64_t sp)
{
    uint64_t mask = signals_set_mask(SIGNALS_ALL);
    if (maker->pending) {
        signals_set_mask(mask);
        return SYSCALL_NOT_BEGUN;
    }
    take_all_locks();
    maker->forks++;
    long result = sys_call6(number, arguments[0], arguments[1], arguments[2], arguments[3],
                            arguments[4], arguments[5]);
    give_all_but_the_caches();
    if (result == 0) {
        maker->tid = sys(gettid);
        threads_forget_others(maker);
        cache_restart();
        fast_init();
        maker->generation = cache.generation;
        forget_children(maker);
        children_init_thread(maker);
        lines_flush(maker); /* for nothing: it is the parent's */
        record_forked(maker);
        returns_forget_all(maker);
        if (sp)
            maker->registers[REGISTER_RSP] = sp;
        thread_set_gs(maker);
        turns_forked(maker);
        signals_init_thread(maker);
    } else if (sys_failed(result)) {
        maker->forks--;
    }
    lock_give(&cache.lock);
    signals_set_mask(mask);
    return result;
}

long threads_call_fork(struct native_thread *thread)
{
    return start_copy(thread, __NR_fork, (uint64_t[6]){0}, 0);
}

long threads_call_clone(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t flags = r[REGISTER_RDI], sp = r[REGISTER_RSI];
    uint64_t arguments[6] = {flags, 0, r[REGISTER_RDX], r[REGISTER_R10], r[REGISTER_R8]};
    if (!(flags & CLONE_VM))
        return start_copy(thread, __NR_clone, arguments, sp);
    struct native_thread *child = child_of(thread, flags, sp);
    arguments[1] = child->stack_top;
    return start_sharing(thread, __NR_clone, arguments, flags, child);
}

long threads_call_vfork(struct native_thread *thread)
{
    uint64_t flags = CLONE_VM | CLONE_VFORK | 17 /* SIGCHLD */;
    struct native_thread *child = child_of(thread, flags, 0);
    uint64_t arguments[6] = {flags, child->stack_top};
    return start_sharing(thread, __NR_clone, arguments, flags, child);
}

long threads_call_clone3(struct native_thread *thread)
{
    struct clone_args copy = {0};
    uint64_t size = thread->registers[REGISTER_RSI];
    if (size < 64 || size > 4096)
        return size < 64 ? -EINVAL : -E2BIG;
    if (size > sizeof copy)
        size = sizeof copy;
    if (!gate_copy(&copy, (void *)thread->registers[REGISTER_RDI], size))
        return -EFAULT;
    uint64_t sp = copy.stack ? copy.stack + copy.stack_size : 0;
    uint64_t arguments[6] = {(uint64_t)&copy, size};
    if (!(copy.flags & CLONE_VM)) {
        copy.stack = copy.stack_size = 0;
        return start_copy(thread, __NR_clone3, arguments, sp);
    }
    struct native_thread *child = child_of(thread, copy.flags, sp);
    copy.stack = child->stack_top - ENGINE_STACK_BYTES;
    copy.stack_size = ENGINE_STACK_BYTES;
    return start_sharing(thread, __NR_clone3, arguments, copy.flags, child);
}

/* ---- the end ---- */

_Noreturn long threads_call_exit_group(struct native_thread *thread)
{
    int status = thread->registers[REGISTER_RDI] & 0xff;
    if (!thread->is_vfork) {
        turns_take(thread);
        lock_take(&cache.lock);
        record_finish(status);
    }
    for (;;)
        sys(exit_group, status);
}

_Noreturn long threads_call_exit(struct native_thread *thread)
{
    if (thread->is_vfork)
        threads_call_exit_group(thread);
    signals_set_mask(SIGNALS_ALL);
    lock_take(&cache.lock);
    if (live_count == 1) { /* asked with the lock: of two that end at once, one is the last */
        lock_give(&cache.lock);
        threads_call_exit_group(thread);
    }
    settle(thread);
    core_thread_end(&core, thread->thread);
    thread->ended = true;
    live_count--;
    lock_give(&cache.lock);
    thread_end(&thread->is_free, thread->registers[REGISTER_RDI]);
}

/*
 * dispatch.c: what happens when a thread leaves the cache: the exit says why, the core is told,
 * and the thread goes back in at the block for its new pc.
 *
 * What always holds inside the cache: the current context's code is the function of the block
 * that runs (a PLT runs in its caller's context; anonymous code in that of the anonymous function
 * that was entered). A branch between two blocks of one function is linked for good; any other
 * comes here and is shown to the core.
 */
#include "engines/native/children.h"
#include "engines/native/fast.h"
#include "engines/native/foreseen.h"
#include "engines/native/jumps.h"
#include "engines/native/leaves.h"
#include "engines/native/lines.h"
#include "engines/native/maps.h"
#include "engines/native/progress.h"
#include "engines/native/python_watch.h"
#include "engines/native/record.h"
#include "engines/native/repeatable.h"
#include "engines/native/requests.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/translate.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include "engines/native/turns.h"
#include "engines/x86_64/code_reader.h"

static uint64_t stack_pointer(const struct native_thread *thread)
{
    return thread->registers[REGISTER_RSP];
}

static bool belongs(const struct native_thread *thread, const struct block *block)
{
    if (block->flags & BLOCK_PLT)
        return true;
    if (thread->hot.pending_site)
        return false;
    const struct code_function *code = thread->hot.current->code;
    if (block->function)
        return code == block->function;
    return (code->flags & (CODE_FUNCTION_ANONYMOUS | CODE_FUNCTION_GONE)) ==
           CODE_FUNCTION_ANONYMOUS;
}

/* The block at the thread's pc, with the current context brought in line. */
static struct block *enter_coming(struct native_thread *thread, struct coming coming)
{
    struct block *block = translate_coming(thread->pc, coming);
    if (belongs(thread, block))
        return block;
    record_settle(thread);
    struct context *before = thread->hot.current;
    const struct stack_entry *top = thread->hot.top;
    const struct stack *stack = thread->thread->stack;
    bool plain = !thread->hot.pending_site;
    core_mismatch(&core, thread->thread, thread->pc, stack_pointer(thread));
    /* The core may have found a function to begin here. */
    block = translate_coming(thread->pc, coming);
    uint32_t number = transition_number(block);
    /* No frame was left: it will be so again. But to go back to a Python frame is no call of it, nor
     * is to go on under another name. */
    plain = plain && thread->hot.top == top && thread->thread->stack == stack &&
            !context_renamed(before, thread->hot.current);
    if (plain && !(thread->hot.current->function->flags & CODE_FUNCTION_PYTHON)) {
        *fast_call_slot(thread, before, number) =
            (struct child_slot){.key = before->key + number, .child = thread->hot.current};
        if (!thread->hot.current->entry && !maps_may_change(block->pc))
            thread->hot.current->entry = block->pc; /* as good as a call, to find it by */
        fast_put_beside(before, number, block->pc, thread->hot.current);
    }
    return block;
}

static struct block *enter_block(struct native_thread *thread)
{
    return enter_coming(thread, (struct coming){0});
}

/* Within a function, or from a caller into a PLT: the context stays. */
static bool context_stays(const struct block *from, const struct block *to)
{
    if (to->flags & BLOCK_PLT)
        return true;
    return from->function == to->function && !(from->flags & BLOCK_PLT);
}

static struct block *take_jump(struct native_thread *thread, uint32_t id)
{
    thread->pc = cache.exits[id].target;
    struct block *to = enter_coming(thread, (struct coming){.before = cache.exits[id].before});
    const struct block *from = &cache.blocks[cache.exits[id].block];
    if (from->flags & BLOCK_LEAF)
        return to; /* it has a frame, which the next one may not need */
    if (context_stays(from, to))
        cache_link(id, to, CACHE_START + to->code);
    else if (!(from->flags & BLOCK_PLT))
        cache_link(id, to, jumps_transition_entry(to));
    return to;
}

static struct block *take_enter(struct native_thread *thread, uint32_t id)
{
    thread->pc = cache.exits[id].target;
    struct block *to = translate_block(thread->pc);
    if (!belongs(thread, to))
        return enter_block(thread);
    cache_link(id, to, CACHE_START + to->code);
    return to;
}

/* An indirect call whose callee is in no table of targets. */
static struct block *take_entered(struct native_thread *thread)
{
    thread->pc = thread->target;
    struct block *to = translate_coming(thread->pc, (struct coming){.by = COMING_CALLED});
    if (!belongs(thread, to))
        return enter_block(thread);
    jumps_remember(to, TARGET_CALLED);
    return to;
}

static struct block *take_indirect_jump(struct native_thread *thread, uint32_t id)
{
    const struct exit exit = cache.exits[id]; /* a copy: the core may make exits move */
    uint64_t sp = stack_pointer(thread);
    bool from_plt = cache.blocks[exit.block].flags & BLOCK_PLT;
    bool reached = thread->hot.top[-1].stack_pointer - 8 - sp <= thread->hot.reach;
    const struct context *before = thread->hot.current;
    thread->pc = thread->target;
    if (!reached) {
        record_settle(thread);
        core_jump(&core, thread->thread, thread->pc, sp);
    }
    const struct coming coming = {.by = reached && !from_plt ? COMING_LOCAL : COMING_PLAIN};
    struct block *to = enter_coming(thread, coming);
    if (from_plt || (to->flags & BLOCK_PLT))
        return to;
    if (exit.slot && may_foresee(thread->pc))
        cache_remake(exit.pc);
    jumps_remember(to, TARGET_JUMPED);
    if (reached && to->function && to->function == before->code && thread->hot.current == before)
        jumps_remember_local(to);
    return to;
}

/* The next call from here to there stays in the cache. */
static void remember_call(struct native_thread *thread, uint32_t id, struct context *caller,
                          struct block *callee)
{
    const struct exit *exit = &cache.exits[id];
    struct context *child = thread->hot.current;
    bool direct = exit->kind == EXIT_CALL;
    if (direct) {
        fast_remember_call(thread, caller, exit->site, callee->pc, child);
        return;
    }
    jumps_remember(callee, TARGET_CALLED);
    if (!options.line_detail) {
        *fast_called_slot(thread, caller, callee->pc) =
            (struct child_slot){.child = child, .context = caller};
        return;
    }
    *fast_indirect_slot(thread, caller, exit->site, callee->pc) =
        (struct child_slot){.key = caller->key + exit->site, .child = child, .target = callee->pc};
    fast_put_beside(caller, exit->site, callee->pc, child);
}

/* A block that begins where its function does says whose it is; else the core looks for it. */
static struct context *find_callee(struct native_thread *thread, uint32_t site, uint64_t target)
{
    const struct block *block = cache_find(target);
    struct code_function *function = block ? block->function : NULL;
    if (function && function->module->kind == CODE_FILE &&
        function->start + function->module->bias == target)
        return core_callee_of(&core, thread->thread, site, function, target);
    return core_callee(&core, thread->thread, site, target);
}

static struct block *take_call(struct native_thread *thread, uint32_t id, uint64_t target)
{
    const struct exit exit = cache.exits[id]; /* a copy: the core may make exits move */
    thread->pc = target;
    record_settle(thread);
    struct context *caller = thread->hot.current;
    core_call_found(&core, thread->thread, find_callee(thread, exit.site, target),
                    exit.pc + exit.length, stack_pointer(thread) + 8);
    struct context *callee = thread->hot.current;
    bool plain = !thread->hot.pending_site;
    thread->hot.top[-1].code = cache.exits[id].landing;
    const bool indirect = exit.kind == EXIT_CALL_INDIRECT;
    struct block *to =
        enter_coming(thread, (struct coming){.by = indirect ? COMING_CALLED : COMING_PLAIN});
    if (plain && thread->hot.current == callee)
        remember_call(thread, id, caller, to);
    bool remakes =
        exit.slot ? may_foresee(target) : indirect && note_call_target(exit.site, target);
    if (remakes)
        cache_remake(exit.pc);
    return to;
}

/* What a return drops besides the address its caller has pushed before the call, so that the
 * frame ends below it; or the callee's own tail call has, and moved the address (then above). */
static struct block *take_return(struct native_thread *thread, uint16_t pops)
{
    uint64_t sp = stack_pointer(thread), target = thread->target;
    record_settle(thread);
    thread->pc = target;
    if (!core_return_fast(thread->thread, target, sp - pops) &&
        !core_return_fast(thread->thread, target, sp))
        core_return(&core, thread->thread, target, sp);
    struct block *to = enter_block(thread);
    python_returned(thread, to);
    return to;
}

_Noreturn static void stop_refused(const struct exit *exit)
{
    char address[32];
    struct string_builder builder = {address, 0, sizeof address};
    string_add_number(&builder, exit->pc, 16);
    record_finish(STATUS_FAILED);
    fail("the program uses ", exit->refusal, " at 0x", address,
         ", which the native engine cannot run; use --engine=valgrind", NULL);
}

/* The last instruction of a segment that was counted as a whole did not run. */
static void take_back_last(struct native_thread *thread, uint32_t segment)
{
    turns_take_back(thread, 1);
    if (options.line_detail)
        lines_shorten(thread, segment, core.blocks[segment].instructions - 1);
    else
        thread->instructions--;
}

static struct block *take_syscall(struct native_thread *thread, uint64_t next, uint32_t segment)
{
    thread->pc = next;
    thread->is_outside = true;
    lock_give(&cache.lock);
    turns_give(thread);
    bool begun = syscalls_perform(thread);
    turns_take(thread);
    lock_take(&cache.lock);
    thread->is_outside = false;
    if (begun)
        return enter_block(thread);
    thread->pc = next - 2;
    take_back_last(thread, segment);
    return enter_block(thread);
}

static bool is_address(uint64_t value)
{
    return (int64_t)(value << 16) >> 16 == (int64_t)value;
}

/* The core's number of the segment that ends with the exit's call; line detail only. */
static uint32_t segment_of(const struct exit *exit)
{
    const struct block *block = &cache.blocks[exit->block];
    uint32_t segment = 0;
    for (unsigned i = 0; i < block->segment_count; i++)
        if (core.blocks[block->segments[i]].address <= exit->pc)
            segment = block->segments[i];
    return segment;
}

/* The processor does not go to what is no address: the call itself faults, and has done nothing. */
static struct block *refuse_call(struct native_thread *thread, const struct exit *exit)
{
    thread->registers[REGISTER_RSP] += 8;
    thread->pc = exit->pc;
    take_back_last(thread, options.line_detail ? segment_of(exit) : 0);
    signals_raise_protection(thread);
    return enter_block(thread);
}

/* There was no code to translate; there may be some by now. */
static struct block *take_no_code(struct native_thread *thread)
{
    struct code_reader reader;
    struct instruction instruction;
    code_reader_init(&reader, thread->pc, maps_executable_end(thread->pc));
    if (code_reader_next(&reader, &instruction)) {
        cache_invalidate(thread->pc, thread->pc + 1);
        return enter_block(thread);
    }
    if (reader.end - thread->pc < INSTRUCTION_LENGTH_MAX)
        signals_raise_fetch(thread, reader.end);
    else
        signals_raise_illegal(thread);
    return translate_block(thread->pc);
}

static struct block *take_exit(struct native_thread *thread, uint32_t id)
{
    struct exit *exit = &cache.exits[id];
    switch (exit->kind) {
    case EXIT_JUMP:
        return take_jump(thread, id);
    case EXIT_JUMP_INDIRECT:
        return take_indirect_jump(thread, id);
    case EXIT_ENTER:
        return take_enter(thread, id);
    case EXIT_ENTERED:
        return take_entered(thread);
    case EXIT_LEAF_RETURN:
        return take_return(thread, 0);
    case EXIT_LEAF_ENTER:
    case EXIT_LEAF_END:
    case EXIT_MISMATCH:
        thread->pc = exit->target;
        return enter_block(thread);
    case EXIT_CALL:
        return take_call(thread, id, exit->target);
    case EXIT_CALL_INDIRECT:
        if (!is_address(thread->target))
            return refuse_call(thread, exit);
        return take_call(thread, id, thread->target);
    case EXIT_RETURN:
        return take_return(thread, exit->pops);
    case EXIT_CHANGED:
        thread->pc = exit->target;
        cache_invalidate(thread->pc, thread->pc + 1);
        return enter_block(thread);
    case EXIT_REQUEST:
        thread->pc = exit->target;
        requests_perform(thread);
        return enter_block(thread);
    case EXIT_EMULATED:
        thread->pc = exit->target;
        repeatable_emulate(thread, exit->site);
        return enter_block(thread);
    case EXIT_SYSCALL:
        return take_syscall(thread, exit->target, exit->site);
    case EXIT_LEASE:
        thread->pc = exit->target;
        return turns_next(thread, exit->site);
    case EXIT_BUDGET:
        thread->pc = exit->target;
        turns_end_of_budget(thread);
    case EXIT_REFUSED:
        stop_refused(exit);
    case EXIT_NO_CODE:
        thread->pc = exit->target;
        return take_no_code(thread);
    }
    fail("an exit that is none", NULL);
}

/* Exits in the middle of the engine's own code, which are no safe points. False: it is another. */
static bool take_inner_exit(struct native_thread *thread, uint32_t id)
{
    uint8_t kind = cache.exits[id].kind;
    if (kind == EXIT_COUNT) {
        struct exit exit = cache.exits[id]; /* a copy: the rows move when there are more */
        lines_take_exit(thread, &exit);
        cache.exits[id].landing = exit.landing;
    } else if (kind == EXIT_SWAP) {
        core_swap(&core, thread->thread);
    }
    return kind == EXIT_COUNT || kind == EXIT_SWAP;
}

/* The cache begins anew, as soon as no thread is in what will be written over. The lock is given
 * for a while. */
static void make_room(struct native_thread *thread)
{
    const int64_t while_others_leave[2] = {0, 50000}; /* struct timespec */
    while (!cache_has_room()) {
        if (threads_have_renewed(thread)) {
            cache_next_generation();
            break;
        }
        lock_give(&cache.lock);
        sys(nanosleep, while_others_leave, NULL);
        lock_take(&cache.lock);
    }
}

/* The thread is about to go on in `block`, at its pc; returns where. */
static uint64_t entry_of(struct native_thread *thread, struct block *block)
{
    if (!cache_has_room() && !thread->in_leaf) {
        thread->generation = cache.generation; /* it waits in no code of the cache */
        make_room(thread);
        block = translate_block(thread->pc);
        thread->generation = cache.generation - 1;
    }
    if (thread->generation != cache.generation)
        fast_renew(thread);
    core_keep_room(&core, thread->thread);
    return CACHE_START + block->code;
}

uint64_t thread_dispatch(struct native_thread *thread)
{
    lock_take(&cache.lock);
    if (take_inner_exit(thread, thread->exit_id)) {
        uint64_t again = cache.exits[thread->exit_id].landing;
        fast_enter(thread);
        lock_give(&cache.lock);
        return again;
    }
    struct block *block = NULL;
    thread->in_leaf = leaves_left_by(thread->exit_id) && thread->leaf.code;
    if (thread->in_leaf)
        block = leaves_go_on(thread, thread->exit_id);
    if (thread->in_leaf && !block)
        leaves_make_frame(thread, cache.exits[thread->exit_id].kind == EXIT_LEAF_RETURN);
    if (thread->plane_changed)
        threads_catch_up(thread);
    if (!block)
        block = take_exit(thread, thread->exit_id);
    uint64_t code = entry_of(thread, block);
    if (options.progress)
        progress_tell();
    lock_give(&cache.lock);
    signals_safe_point(thread);
    fast_enter(thread);
    fast_leave_by(thread, vectors_upper_in_use(thread));
    return code;
}

void thread_dispatch_inner(struct native_thread *thread)
{
    lock_take(&cache.lock);
    python_take_exit(thread, &cache.exits[thread->exit_id]);
    fast_enter(thread);
    lock_give(&cache.lock);
}

uint64_t thread_enter(struct native_thread *thread)
{
    struct block *block = enter_block(thread);
    if (thread->generation != cache.generation)
        fast_renew(thread);
    core_keep_room(&core, thread->thread);
    fast_enter(thread);
    return CACHE_START + block->code;
}

struct block *thread_enter_block(struct native_thread *thread)
{
    return enter_block(thread);
}

void thread_start(struct native_thread *thread)
{
    turns_take(thread);
    lock_take(&cache.lock);
    thread->cache_pc = thread_enter(thread);
    lock_give(&cache.lock);
    thread_resume(thread);
}

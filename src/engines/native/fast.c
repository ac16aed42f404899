/*
 * fast.c: the sequences that calls become, so that nearly all of them stay inside the cache.
 * returns.c has those of returns, jumps.c those of indirect jumps and the entries of blocks.
 *
 * A sequence borrows rax and rcx, rarely rdx, whose values wait in vector registers (vectors.h). The
 * count and the shadow stack's top are in such registers too, so nothing here waits for memory that
 * was just written, except, at line detail, for the current context.
 *
 *   call     find the child of (context, site) (children.h), settle the count, push the shadow
 *            entry, change context.
 *   call *   the same; the child's entry must be the target. On through a table of the blocks that
 *            are called (jumps.c). One that has called nothing else from several contexts becomes
 *            a direct call, if the target is still that (foreseen.h).
 *
 * Everything else leaves the cache and is told to the core, which also fills these tables.
 * Flags are never assumed dead: a direct call looks ahead into its callee, a landing into the code
 * behind the call, an entry into its block; where that proves nothing, they are saved and put
 * back.
 *
 * There is always room on the shadow stack: a push goes with a step down the tree, and slow paths
 * keep room for a stack as deep as the tree. Only where recursion is folded does a call ask.
 *
 * A call to a PLT stub of the plain kind (endbr64? jmp *slot) becomes a call through the slot; the
 * stub's instructions are counted with the caller's, where they belong. Once the slot is bound,
 * that is a direct call, if the slot is still what it was.
 */
#include "engines/native/fast.h"
#include "engines/native/assemble.h"
#include "engines/native/children.h"
#include "engines/native/foreseen.h"
#include "engines/native/jumps.h"
#include "engines/native/leaves.h"
#include "engines/native/python_counts.h"
#include "engines/native/python_fast.h"
#include "engines/native/record.h"
#include "engines/native/returns.h"
#include "engines/native/translation.h"

#define ENTRY(member) ((int8_t)offsetof(struct stack_entry, member))
#define RAX_RCX       (1 << RAX | 1 << RCX)

/* Cache addresses of code that all blocks share. */
static struct {
    /* Out of the cache: the registers become the program's, by whether it uses their upper halves. */
    uint64_t leave[2];
    uint64_t enter; /* in, to thread.cache_pc */
    uint64_t enter_end, enter_loads[VECTORS_BORROWED];
} common;

/* ---- pieces of sequences ---- */

/* What ran, and what the call is yet to count, belongs to the context in register `context`. */
static void emit_settle(struct translation *t, unsigned context)
{
    vectors_emit_count(&t->code, t->folded);
    vectors_emit_settle(&t->code, context, true);
    if (python_counts_settle(t))
        vectors_emit_settle_line(&t->code, context);
}

void emit_load_current(struct emitter *e, unsigned reg)
{
    if (options.line_detail) {
        emit_load(e, reg, FIELD(hot.current));
        return;
    }
    vectors_emit_load_top(e, reg);
    op_memory(e, OP_LOAD, reg, reg, ENTRY(context));
}

void emit_store_current(struct emitter *e, unsigned reg, unsigned scratch)
{
    if (options.line_detail) {
        emit_store(e, FIELD(hot.current), reg);
        return;
    }
    vectors_emit_load_top(e, scratch);
    op_memory(e, OP_STORE, reg, scratch, ENTRY(context));
}

/* At line detail, the context in the register has become the current one; it is lost. */
static void emit_counters(struct emitter *e, unsigned context, bool is_called)
{
    if (is_called)
        emit_increment(e, context, CONTEXT(calls));
    op_memory(e, OP_LOAD, context, context, CONTEXT(counters));
    emit_store(e, FIELD(counters), context);
}

void emit_change_context(struct emitter *e, unsigned context, unsigned scratch, bool is_called)
{
    emit_store_current(e, context, scratch);
    if (options.line_detail)
        emit_counters(e, context, is_called);
}

/* `child` becomes the current context, `context` being the one that was, and the shadow entry is
 * pushed. Both registers are lost. */
static void emit_shadow_push(struct emitter *e, unsigned context, unsigned child,
                             uint64_t return_address, uint64_t landing)
{
    unsigned top = context, scratch = child;
    if (options.line_detail) {
        emit_store(e, FIELD(hot.current), child);
        emit_counters(e, child, true);
        top = child;
        scratch = context;
    }
    vectors_emit_load_top(e, top);
    if (options.line_detail)
        op_memory(e, OP_STORE, context, top, ENTRY(context));
    else
        op_memory(e, OP_STORE, child, top, sizeof(struct stack_entry) + ENTRY(context));
    if (fits_in_32(return_address)) {
        store_constant(e, top, ENTRY(return_address), return_address);
    } else {
        emit_constant(e, scratch, return_address);
        op_memory(e, OP_STORE, scratch, top, ENTRY(return_address));
    }
    lea_above_stack(e, scratch);
    op_memory(e, OP_STORE, scratch, top, ENTRY(stack_pointer));
    store_constant(e, top, ENTRY(code), landing);
    vectors_emit_push(e);
}

/* Where recursion folds, stacks get deeper than the tree. Borrows rax. */
static void emit_room_check(struct emitter *e, uint64_t miss)
{
    if (!options.max_contexts)
        return;
    vectors_emit_load_top(e, RAX);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.limit));
    jump_if(e, IF_EQUAL, miss);
}

/* ---- calls ---- */

uint32_t call_site(struct translation *t, unsigned index)
{
    uint64_t pc = t->pc + t->offsets[index];
    return tree_site(&core.tree, pc, code_map_peek(&core.code, pc).module);
}

/* A call to `target`; the return address is pushed. `spilled`: if rcx is, and perhaps rax, the target
 * was foreseen, and another site of the same kind may have gone elsewhere. */
static void emit_call_to(struct translation *t, unsigned index, uint64_t target, unsigned spilled)
{
    bool foreseen = spilled;
    struct emitter *e = &t->code;
    uint64_t next = t->pc + t->offsets[index + 1];
    bool flags = !flags_dead_at(target);
    uint32_t site = call_site(t, index);
    uint32_t id = new_exit(t, index, EXIT_CALL, target);
    uint64_t miss = cold_exit(id, flags, RAX_RCX, t->folded);
    uint8_t *start = e->out;
    cache.exits[id].site = site;
    if (!(spilled & 1 << RAX))
        emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    if (!foreseen)
        emit_spill(e, RCX);
    lines_emit_folded(e, &t->folded_line, RCX);
    emit_room_check(e, miss);
    emit_load_current(e, RCX);
    /* A call in code that the program makes may be made to lead elsewhere. */
    const struct step step = {t->function, site, target, foreseen || t->checked};
    struct child_lookup lookup = emit_beside(e, &step);
    finish_beside(&lookup, &step, miss);
    if (step.varies && options.line_detail) /* found by its site alone */
        emit_entry_check(e, target, miss);
    if (options.line_detail)
        line_counters_emit_check(e, RAX, miss);
    emit_settle(t, RCX);
    emit_shadow_push(e, RCX, RAX, next, LANDING_UNKNOWN);
    restore(e, flags, RAX_RCX);
    emit_align_patch(e, 1);
    emit_byte(e, 0xe9);
    emit_linkable(e, new_exit(t, index, EXIT_ENTER, target));
    emit_end_verify(t);
    returns_finish_call(t, index, start, id);
}

static uint64_t cold_store_target(uint64_t to)
{
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    emit_store(&cold, FIELD(target), RCX);
    emit_jump(&cold, to);
    cold_end(&cold);
    return address;
}

/* The target is in rcx, the return address is pushed; rcx alone is spilled. `slot`: it comes from
 * that of a PLT stub, which is not bound yet. */
static void emit_call_through(struct translation *t, unsigned index, bool slot)
{
    struct emitter *e = &t->code;
    uint64_t next = t->pc + t->offsets[index + 1];
    uint32_t site = call_site(t, index);
    uint32_t id = new_exit(t, index, EXIT_CALL_INDIRECT, 0);
    uint64_t miss = cold_exit(id, true, ALL_THREE, t->folded);
    uint8_t *start = e->out;
    cache.exits[id].site = site;
    cache.exits[id].slot = slot;
    emit_spill(e, RAX);
    save_flags(e);
    emit_spill(e, RDX);
    lines_emit_folded(e, &t->folded_line, RDX);
    uint64_t missed = cold_store_target(miss);
    emit_room_check(e, missed);
    emit_load_current(e, RAX);
    emit_indirect_child(e, site, miss);
    if (options.line_detail)
        line_counters_emit_check(e, RDX, missed);
    emit_settle(t, RAX);
    emit_shadow_push(e, RAX, RDX, next, LANDING_UNKNOWN);
    emit_unspill(e, RDX);
    jumps_emit_go(e, TARGET_CALLED);
    returns_finish_call(t, index, start, id);
}

/* Pushes the return address of a call to `target`, 0 if that is not known; there may be no room. */
static void emit_push_return(struct translation *t, unsigned index, uint64_t target,
                             unsigned spilled)
{
    if (target && leaves_expect(t, target)) {
        leaves_emit_before_push(&t->code);
        add_mark(t, MARK_PROGRAM, t->offsets[index], spilled, t->ahead);
    }
    emit_push_constant(&t->code, t->pc + t->offsets[index + 1]);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
}

/* ---- calls whose target is foreseen ---- */

/* The call leads elsewhere by now: the block is to be made anew. rcx: the target. */
static uint64_t cold_not_foreseen(struct translation *t, unsigned index, uint64_t target, bool slot,
                                  unsigned spilled)
{
    uint32_t id = new_exit(t, index, EXIT_CALL_INDIRECT, 0);
    cache.exits[id].site = call_site(t, index);
    cache.exits[id].landing = core.no_landing;
    cache.exits[id].slot = slot;
    uint64_t out = cold_exit(id, false, spilled, t->folded);
    if (t->folded_line.place)
        out = lines_cold_folded(&t->folded_line, out);
    return cold_unverified(target, cold_store_target(out));
}

/* Is the sequence of a call short enough for a branch to behind it? */
static bool is_short(const struct translation *t, unsigned index, uint64_t target)
{
    return !options.line_detail && !options.max_contexts && flags_dead_at(target) &&
           fits_in_32(t->pc + t->offsets[index + 1]);
}

/* The target, which is in rcx, is foreseen; rcx is spilled, the return address pushed. */
static void emit_call_foreseen(struct translation *t, unsigned index, uint64_t target, bool slot)
{
    unsigned spilled = 1 << RCX;
    if (leaves_expect(t, target)) {
        emit_verify_ahead(t, target, cold_not_foreseen(t, index, target, slot, spilled));
        leaves_emit_call(t, index, target, true);
        return;
    }
    if (!is_short(t, index, target)) {
        emit_verify(&t->code, target, cold_not_foreseen(t, index, target, slot, spilled));
        emit_call_to(t, index, target, spilled);
        return;
    }
    /* What can be done before is, to make it shorter. */
    emit_spill(&t->code, RAX);
    spilled |= 1 << RAX;
    vectors_emit_count(&t->code, t->folded);
    t->folded = 0;
    emit_verify_ahead(t, target, cold_not_foreseen(t, index, target, slot, spilled));
    emit_call_to(t, index, target, spilled);
}

static void emit_call_slot(struct translation *t, unsigned index, uint64_t slot)
{
    struct emitter *e = &t->code;
    uint64_t target = foreseen_target(slot);
    emit_push_return(t, index, target, 0);
    emit_load_slot(e, slot);
    if (!target) {
        emit_call_through(t, index, true);
        return;
    }
    emit_call_foreseen(t, index, target, true);
}

/* The target is in rcx, which is spilled. */
static void emit_call_register(struct translation *t, unsigned index)
{
    uint64_t target = foreseen_call(call_site(t, index));
    emit_push_return(t, index, target, 1 << RCX);
    if (!target) {
        emit_call_through(t, index, false);
        return;
    }
    emit_call_foreseen(t, index, target, false);
}

/* rcx = target; spills rcx. */
void emit_load_target(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    struct copy copy;
    unsigned here = t->offsets[index];
    emit_spill(e, RCX);
    copy_load_target(&t->instructions[index], t->source + here, t->pc + here, e->address, &copy);
    add_mark(t, MARK_PROGRAM, here, 1 << RCX, t->ahead);
    if (copy.scratch >= 0) {
        emit_constant(e, RCX, copy.operand);
        add_mark(t, MARK_PROGRAM, here, 1 << RCX, t->ahead);
    }
    copy_emit_body(e, &copy);
}

/* rcx = the word at `slot`; spills rcx. */
void emit_load_slot(struct emitter *e, uint64_t slot)
{
    emit_spill(e, RCX);
    emit_constant(e, RCX, slot);
    op_memory(e, OP_LOAD, RCX, RCX, 0);
}

void emit_call(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    uint64_t next = t->pc + t->offsets[index + 1], slot;
    bool direct = t->instructions[index].class == CLASS_CALL;
    if (direct && branch_target(t, index) == next) { /* call next; pop: no call at all */
        emit_push_constant(e, next);
        return;
    }
    if (direct && plt_stub(branch_target(t, index), &slot)) {
        emit_call_slot(t, index, slot);
    } else if (direct) {
        emit_push_return(t, index, branch_target(t, index), 0);
        if (leaves_expect(t, branch_target(t, index)))
            leaves_emit_call(t, index, branch_target(t, index), false);
        else
            emit_call_to(t, index, branch_target(t, index), 0);
    } else {
        emit_load_target(t, index);
        add_mark(t, MARK_PROGRAM, t->offsets[index], 1 << RCX, t->ahead);
        emit_call_register(t, index);
    }
}

bool folds_count(const struct translation *t, unsigned index)
{
    uint64_t slot;
    switch (t->instructions[index].class) {
    case CLASS_CALL:
        return branch_target(t, index) != t->pc + t->offsets[index + 1];
    case CLASS_CALL_INDIRECT:
    case CLASS_RETURN:
        return true;
    case CLASS_JUMP_INDIRECT:
        return !t->plt;
    case CLASS_JUMP:
        return !t->plt && plt_stub(branch_target(t, index), &slot);
    default:
        return false;
    }
}

/* ---- in and out ---- */

void emit_tell_current(struct emitter *e)
{
    if (options.line_detail)
        return;
    emit_load_current(e, RAX);
    emit_store(e, FIELD(hot.current), RAX);
}

static uint64_t leave_code(enum vectors_given given)
{
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    emit_spill(&cold, RAX);
    emit_tell_current(&cold);
    emit_unspill(&cold, RAX);
    vectors_emit_give(&cold, given);
    store_thread_constant(&cold, FIELD(in_cache), 0);
    jump_through_thread(&cold, FIELD(leave));
    cold_end(&cold);
    return address;
}

static uint64_t enter_code(void)
{
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    store_thread_constant(&cold, FIELD(in_cache), 1);
    vectors_emit_take(&cold, GIVEN_WHOLE, common.enter_loads);
    jump_through_thread(&cold, FIELD(cache_pc));
    common.enter_end = cold.address;
    cold_end(&cold);
    return address;
}

void fast_renew(struct native_thread *thread)
{
    returns_forget_old();
    thread->generation = cache.generation;
}

void fast_init(void)
{
    foreseen_init();
    vectors_write_constants((uint64_t *)cache_writable(CACHE_CONSTANTS),
                            CACHE_START + CACHE_CONSTANTS);
    common.leave[true] = leave_code(GIVEN_WHOLE);
    common.leave[false] = vectors_have_halves() ? leave_code(GIVEN_LOWER) : common.leave[true];
    common.enter = enter_code();
    core.no_landing = returns_init();
    leaves_init();
    jumps_init();
    python_fast_init();
    cache_keep_shared();
}

void fast_finish_entry(struct native_thread *thread, struct sigcontext *context)
{
    if (context->rip < common.enter || context->rip >= common.enter_end)
        return;
    vectors_take_in_frame(thread, context, common.enter_loads);
    thread->in_cache = 1;
    fast_enter(thread);
    context->rip = thread->cache_pc;
}

void fast_leave_by(struct native_thread *thread, bool upper)
{
    thread->exit_entry = common.leave[upper];
}

void fast_emit_leave_by(struct emitter *e, bool upper)
{
    if (common.leave[false] != common.leave[true])
        store_thread_constant(e, FIELD(exit_entry), common.leave[upper]);
}

void fast_init_thread(struct native_thread *thread)
{
    fast_leave_by(thread, true);
    thread->cache_entry = common.enter;
    thread->leave = (uint64_t)thread_leave_cache;
    children_init_thread(thread);
    python_fast_init_thread(thread);
}

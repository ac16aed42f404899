/*
 * jumps.c: see jumps.h.
 *
 * A target's block is found by its address alone:
 *
 *   near   65536 words by sixteen bits of the address: where to go on, at once. What stands there
 *          is an entry of the block (fast.h), which sees that the target is its own;
 *   far    by a hash, with the rest of the address in the same word: for blocks whose place in the
 *          near table another one has. One word an entry, so that threads can share them.
 *
 *   local  65536 words by sixteen bits of the sum of the address and the function's own number:
 *          where to go on for jumps within that function, switches. No other function finds them.
 *
 * A jump's entry then sees that the stack pointer is within reach of the frame, and that the context
 * is that of its function; else the context changes to the one remembered for (context, block). To
 * compare the address takes no flags, so that a jump saves none: the block knows whether they are
 * live.
 */
#include "engines/native/jumps.h"
#include "engines/native/assemble.h"
#include "engines/native/branches.h"
#include "engines/native/children.h"
#include "engines/native/fast.h"
#include "engines/native/foreseen.h"
#include "engines/native/local.h"
#include "engines/native/record.h"
#include "engines/native/returns.h"
#include "engines/native/translation.h"

#define RAX_RCX (1 << RAX | 1 << RCX)
#define MIX     0x9e3bu

static struct {
    uint64_t slow_jump;          /* rcx: the target; rax and rcx are borrowed */
    uint64_t find[TARGET_KINDS]; /* the near table has another target */
    uint64_t not_local;          /* nor has the local one; rcx: the target, as above */
} common;

/* ---- tables ---- */

static uint64_t *near_place(uint64_t pc, enum target_kind kind)
{
    uint64_t *table = (uint64_t *)cache_writable(kind * CACHE_TABLE_BYTES);
    return &table[(uint16_t)(kind == TARGET_CALLED ? pc >> 4 : pc)];
}

static uint64_t *far_place(uint64_t pc, enum target_kind kind)
{
    uint64_t *table = (uint64_t *)cache_writable(CACHE_FAR_TABLES + kind * CACHE_TABLE_BYTES);
    return &table[(uint16_t)((uint32_t)(pc >> 16) * MIX ^ (uint32_t)pc)];
}

static void fill_near(enum target_kind kind)
{
    uint64_t *table = (uint64_t *)cache_writable(kind * CACHE_TABLE_BYTES);
    for (unsigned i = 0; i < CACHE_TABLE_BYTES / sizeof *table; i++)
        __atomic_store_n(&table[i], common.find[kind], __ATOMIC_RELAXED);
}

static uint64_t *local_table(void)
{
    return (uint64_t *)cache_writable(CACHE_LOCAL_TABLE);
}

static uint64_t *local_place(const struct code_function *function, uint64_t pc)
{
    return &local_table()[(uint16_t)(pc + function->engine_number)];
}

static void fill_local(void)
{
    for (unsigned i = 0; i < CACHE_TABLE_BYTES / sizeof *local_table(); i++)
        __atomic_store_n(&local_table()[i], common.not_local, __ATOMIC_RELAXED);
}

static void forget_local(const struct block *block)
{
    if (!block->local_entry)
        return;
    uint64_t *local = local_place(block->function, block->pc);
    if (*local == block->local_entry)
        __atomic_store_n(local, common.not_local, __ATOMIC_RELEASE);
}

void jumps_forget(const struct block *block)
{
    const uint32_t entries[TARGET_KINDS] = {block->jump_entry, block->call_entry};
    for (unsigned kind = 0; kind < TARGET_KINDS; kind++) {
        uint64_t *near = near_place(block->pc, kind), *far = far_place(block->pc, kind);
        if (!entries[kind])
            continue;
        if (*near == entries[kind])
            __atomic_store_n(near, common.find[kind], __ATOMIC_RELEASE);
        if ((uint32_t)*far == entries[kind])
            __atomic_store_n(far, 0, __ATOMIC_RELEASE);
    }
    forget_local(block);
}

void jumps_forget_all(void)
{
    for (unsigned kind = 0; kind < TARGET_KINDS; kind++) {
        fill_near(kind);
        memset(cache_writable(CACHE_FAR_TABLES + kind * CACHE_TABLE_BYTES), 0, CACHE_TABLE_BYTES);
    }
    fill_local();
}

/* ---- to the target ---- */

void jumps_emit_go(struct emitter *e, enum target_kind kind)
{
    if (kind == TARGET_CALLED) {
        op_register32(e, OP_LOAD, RAX, RCX);
        emit_bytes(e, "\xc1\xe8\x04\x0f\xb7\xc0", 6); /* shr eax, 4; movzx eax, ax */
    } else {
        emit_bytes(e, "\x0f\xb7\xc1", 3); /* movzx eax, cx */
    }
    emit_bytes(e, "\xff\x24\xc5", 3); /* jmp [rax * 8 + table] */
    emit_u32(e, CACHE_START + kind * CACHE_TABLE_BYTES);
}

void jumps_emit_go_local(struct emitter *e, const struct code_function *function)
{
    emit_bytes(e, "\x8d\x81", 2); /* lea eax, [rcx + number] */
    emit_u32(e, function->engine_number);
    emit_bytes(e, "\x0f\xb7\xc0\xff\x24\xc5", 6); /* movzx eax, ax; jmp [rax * 8 + table] */
    emit_u32(e, CACHE_START + CACHE_LOCAL_TABLE);
}

/* The far table; flags are saved away. `missed` is gone to with rax and rcx borrowed. */
static void emit_find(struct emitter *e, enum target_kind kind, uint64_t missed)
{
    emit_spill(e, RDX);
    op_register(e, OP_LOAD, RDX, RCX);
    emit_bytes(e, "\x48\xc1\xea\x10", 4); /* shr rdx, 16 */
    emit_bytes(e, "\x69\xc2", 2);         /* imul eax, edx, MIX */
    emit_u32(e, MIX);
    op_register32(e, OP_XOR, RAX, RCX);
    emit_bytes(e, "\x0f\xb7\xc0", 3);     /* movzx eax, ax */
    emit_bytes(e, "\x48\x8b\x04\xc5", 4); /* mov rax, [rax * 8 + table] */
    emit_u32(e, CACHE_START + CACHE_FAR_TABLES + kind * CACHE_TABLE_BYTES);
    emit_bytes(e, "\x65\x89\x04\x25", 4); /* mov gs:[code], eax */
    emit_u32(e, FIELD(code));
    emit_bytes(e, "\x48\xc1\xe8\x20", 4); /* shr rax, 32 */
    emit_bytes(e, "\x48\xff\xc2", 3);     /* inc rdx */
    op_register(e, OP_COMPARE, RAX, RDX);
    emit_unspill(e, RDX);
    jump_if(e, IF_NOT_EQUAL, missed);
}

static uint64_t find_jump_code(void)
{
    struct emitter slow = cold_begin();
    uint64_t missed = slow.address;
    restore_flags(&slow);
    emit_jump(&slow, common.slow_jump);
    cold_end(&slow);

    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    save_flags(&cold);
    emit_find(&cold, TARGET_JUMPED, missed);
    restore_flags(&cold);
    jump_through_thread(&cold, FIELD(code));
    cold_end(&cold);
    return address;
}

static uint64_t find_call_code(void)
{
    uint32_t id = cache_add_exit();
    cache.exits[id].kind = EXIT_ENTERED;
    struct emitter slow = cold_begin();
    uint64_t missed = slow.address;
    emit_store(&slow, FIELD(target), RCX);
    restore(&slow, true, RAX_RCX);
    emit_stub(&slow, id);
    cold_end(&slow);

    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    emit_find(&cold, TARGET_CALLED, missed);
    jump_through_thread(&cold, FIELD(code));
    cold_end(&cold);
    return address;
}

static uint64_t slow_jump_code(void)
{
    uint32_t id = cache_add_exit();
    cache.exits[id].kind = EXIT_JUMP_INDIRECT;
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    emit_store(&cold, FIELD(target), RCX);
    restore(&cold, false, RAX_RCX);
    emit_stub(&cold, id);
    cold_end(&cold);
    return address;
}

void jumps_init(void)
{
    common.slow_jump = slow_jump_code();
    common.find[TARGET_JUMPED] = find_jump_code();
    common.find[TARGET_CALLED] = find_call_code();
    struct emitter cold = cold_begin();
    common.not_local = cold.address;
    jumps_emit_go(&cold, TARGET_JUMPED);
    cold_end(&cold);
    for (unsigned kind = 0; kind < TARGET_KINDS; kind++)
        fill_near(kind);
    fill_local();
}

/* ---- jumps ---- */

/* rcx is the target, and spilled. */
static void emit_go_by_table(struct emitter *e)
{
    emit_spill(e, RAX);
    jumps_emit_go(e, TARGET_JUMPED);
}

static uint64_t cold_not_foreseen(uint64_t target)
{
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    emit_go_by_table(&cold);
    cold_end(&cold);
    return cold_unverified(target, address);
}

/* rcx is the target, and spilled. `slot`: it came from one that will be bound. */
static void emit_jump_outside(struct translation *t, unsigned index, bool slot)
{
    struct emitter *e = &t->code;
    uint32_t id = new_exit(t, index, EXIT_JUMP_INDIRECT, 0);
    cache.exits[id].slot = slot;
    emit_store(e, FIELD(target), RCX);
    emit_unspill(e, RCX);
    emit_stub(e, id);
}

/* A jump through the slot of a PLT stub, mostly a tail call; rcx is the target, and spilled. Once the
 * slot is bound it is a direct jump, if the slot is still what it was. */
static void emit_jump_slot(struct translation *t, unsigned index, uint64_t slot)
{
    struct emitter *e = &t->code;
    uint64_t target = foreseen_target(slot);
    if (target) {
        emit_verify_ahead(t, target, cold_not_foreseen(target));
        emit_unspill(e, RCX);
        emit_jump_exit(t, index, target);
        emit_end_verify(t);
    } else if (slot_is_unbound(slot)) {
        emit_jump_outside(t, index, true);
    } else {
        emit_go_by_table(e);
    }
}

/* What ran is counted; rcx alone is borrowed. */
static void emit_count_before_jump(struct translation *t)
{
    struct emitter *e = &t->code;
    vectors_emit_count(e, t->folded);
    if (!t->folded_line.place)
        return;
    emit_spill(e, RAX);
    lines_emit_folded(e, &t->folded_line, RAX);
    emit_unspill(e, RAX);
}

void emit_indirect_jump(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    uint64_t slot;
    bool direct = t->instructions[index].class == CLASS_JUMP;
    if (direct) {
        plt_stub(branch_target(t, index), &slot);
        add_mark(t, MARK_ENGINE, 0, 0, 0);
        emit_load_slot(e, slot);
        emit_count_before_jump(t);
        emit_jump_slot(t, index, slot);
        return;
    }
    emit_load_target(t, index);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    if (t->plt) {
        emit_jump_outside(t, index, false);
        return;
    }
    vectors_emit_count(e, t->folded);
    emit_spill(e, RAX);
    lines_emit_folded(e, &t->folded_line, RAX);
    if (local_may_lead(t, index))
        jumps_emit_go_local(e, t->function);
    else
        jumps_emit_go(e, TARGET_JUMPED);
}

/* ---- entries of blocks ---- */

static bool flags_live(const struct block *block)
{
    return block->flags & BLOCK_FLAGS_LIVE;
}

static void emit_to_block(struct emitter *e, const struct block *block, unsigned registers)
{
    restore(e, flags_live(block), registers);
    emit_jump(e, CACHE_START + block->code);
}

/* One for which all is right, if the target in rcx is the block's. `flags`: are saved away. */
static uint32_t emit_entry(struct emitter *e, uint64_t pc, uint64_t wrong, bool flags)
{
    wrong = emit_before_verify(e, wrong);
    uint32_t entry = e->address;
    emit_verify_entry(e, pc, wrong);
    restore(e, flags, RAX_RCX);
    return entry;
}

static uint64_t cold_not_called(const struct block *block)
{
    return cold_unverified(block->pc, common.find[TARGET_CALLED]);
}

static uint64_t cold_not_local(const struct block *block)
{
    return cold_unverified(block->pc, common.not_local);
}

void jumps_emit_entry(struct emitter *e, struct block *block, bool is_called)
{
    if (is_called)
        block->call_entry = emit_entry(e, block->pc, cold_not_called(block), flags_live(block));
    else if (block->function && local_is_known(block->function))
        block->local_entry = emit_entry(e, block->pc, cold_not_local(block), false);
}

static void make_call_entry(struct block *block)
{
    uint64_t wrong = cold_not_called(block);
    struct emitter cold = cold_begin();
    block->call_entry = emit_entry(&cold, block->pc, wrong, flags_live(block));
    emit_jump(&cold, CACHE_START + block->code);
    cold_end(&cold);
}

/* Is the stack pointer within reach of the frame? Borrows rax; the flags are free. */
static void emit_reach_check(struct emitter *e, uint64_t otherwise)
{
    vectors_emit_load_top(e, RAX);
    op_memory(e, OP_LOAD, RAX, RAX,
              (int)offsetof(struct stack_entry, stack_pointer) - (int)sizeof(struct stack_entry));
    op_constant8(e, 5, RAX, 8);
    op_register(e, OP_SUB, RAX, RSP);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.reach));
    jump_if(e, IF_ABOVE, otherwise);
}

/* The current context becomes the one remembered for (context, this block); rax and rcx are
 * borrowed and the flags, where they are live, saved away. */
static void end_with_transition(struct emitter *cold, struct block *block, uint64_t miss)
{
    const struct step step = {NULL, transition_number(block), block->pc, false};
    block->transition = cold->address;
    emit_load_current(cold, RCX);
    struct child_lookup lookup = emit_beside(cold, &step);
    if (options.line_detail)
        line_counters_emit_check(cold, RAX, miss);
    vectors_emit_settle(cold, RCX, true);
    if (options.line_detail && options.python)
        vectors_emit_settle_line(cold, RCX);
    emit_change_context(cold, RAX, RCX, true);
    emit_to_block(cold, block, RAX_RCX);
    cold_end(cold);
    finish_beside(&lookup, &step, miss);
}

/* The core is asked whose the block is; rax and rcx are borrowed. */
static uint64_t cold_mismatch(const struct block *block)
{
    uint32_t id = cache_add_exit();
    cache.exits[id] = (struct exit){.kind = EXIT_MISMATCH, .target = block->pc};
    return cold_exit(id, flags_live(block), RAX_RCX, 0);
}

static uint64_t transition(struct block *block)
{
    if (!block->transition) {
        uint64_t miss = cold_mismatch(block);
        struct emitter cold = cold_begin();
        end_with_transition(&cold, block, miss);
    }
    return block->transition;
}

/* The stack pointer is out of reach: the core is asked. */
static uint64_t cold_out_of_reach(const struct block *block)
{
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    if (flags_live(block))
        restore_flags(&cold);
    emit_constant(&cold, RCX, block->pc);
    emit_jump(&cold, common.slow_jump);
    cold_end(&cold);
    return address;
}

static void emit_function_check(struct emitter *e, const struct block *block, uint64_t otherwise)
{
    emit_load_current(e, RCX);
    if (block->function) {
        emit_constant(e, RAX, (uint64_t)block->function);
        op_memory(e, OP_COMPARE, RAX, RCX, CONTEXT(code));
        jump_if(e, IF_NOT_EQUAL, otherwise);
        return;
    }
    op_memory(e, OP_LOAD, RCX, RCX, CONTEXT(code));
    emit_bytes(e, "\xf6\x41", 2); /* test byte [rcx + flags], CODE_FUNCTION_ANONYMOUS */
    emit_byte(e, offsetof(struct code_function, flags));
    emit_byte(e, CODE_FUNCTION_ANONYMOUS);
    jump_if(e, IF_EQUAL, otherwise);
}

static void make_jump_entry(struct block *block)
{
    uint64_t change = transition(block),
             wrong = cold_unverified(block->pc, common.find[TARGET_JUMPED]);
    uint64_t out_of_reach = cold_out_of_reach(block);
    struct emitter cold = cold_begin(), *e = &cold;
    wrong = emit_before_verify(e, wrong);
    block->jump_entry = cold.address;
    emit_verify_entry(e, block->pc, wrong);
    if (flags_live(block))
        save_flags(e);
    emit_reach_check(e, out_of_reach);
    emit_function_check(e, block, change);
    emit_to_block(e, block, RAX_RCX);
    cold_end(e);
}

void jumps_remember_local(struct block *block)
{
    if (!local_is_known(block->function))
        return;
    if (!block->local_entry) {
        uint64_t wrong = cold_not_local(block);
        struct emitter cold = cold_begin();
        block->local_entry = emit_entry(&cold, block->pc, wrong, false);
        emit_jump(&cold, CACHE_START + block->code);
        cold_end(&cold);
    }
    __atomic_store_n(local_place(block->function, block->pc), block->local_entry, __ATOMIC_RELEASE);
}

uint64_t jumps_transition_entry(struct block *block)
{
    if (block->transition_entry)
        return block->transition_entry;
    uint64_t slow = cold_mismatch(block);
    struct emitter cold = cold_begin(), *e = &cold;
    block->transition_entry = cold.address;
    emit_spill(e, RAX);
    if (flags_live(block))
        save_flags(e);
    emit_spill(e, RCX);
    emit_reach_check(e, slow);
    if (block->transition) {
        emit_jump(e, block->transition);
        cold_end(e);
    } else {
        end_with_transition(e, block, slow);
    }
    return block->transition_entry;
}

void jumps_remember(struct block *block, enum target_kind kind)
{
    uint32_t *entry = kind == TARGET_CALLED ? &block->call_entry : &block->jump_entry;
    uint64_t pc = block->pc;
    if (!*entry && kind == TARGET_CALLED)
        make_call_entry(block);
    else if (!*entry)
        make_jump_entry(block);
    if (pc >> 47)
        return;
    __atomic_store_n(far_place(pc, kind), ((pc >> 16) + 1) << 32 | *entry, __ATOMIC_RELEASE);
    __atomic_store_n(near_place(pc, kind), *entry, __ATOMIC_RELEASE);
}

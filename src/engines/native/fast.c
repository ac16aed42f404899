/*
 * fast.c: the sequences that calls, returns and indirect jumps become, so that nearly all of them
 * stay inside the cache.
 *
 * A sequence borrows rax, rcx and rdx, whose values wait in their spill slots, and the flags,
 * which wait in thread.saved_flags as lahf and seto have them:
 *
 *   call     the child of (context, site) is in one of four slots beside the context, else in the
 *            thread's table of children, at a place that follows from the key alone; one
 *            comparison each. Push the shadow entry, change context.
 *   call *   the same, with the target in the key; the slot also has the callee's code.
 *   ret      the newest shadow entry has this address and this stack pointer. Its `code` is the
 *            landing behind the call, where registers and flags are put back.
 *   jmp *    the stack pointer is within reach of the frame; the target's code is in the table
 *            of jumps, one word an entry so that threads can share it. The target's jump entry
 *            sees that the context is that of its function.
 *
 * Everything else leaves the cache and is told to the core, which also fills these tables.
 * Flags are never assumed dead: a direct call looks ahead into its callee, a landing into the code
 * behind the call, an entry into its block; where that proves nothing, they are put back.
 *
 * A call to a PLT stub of the plain kind (endbr64? jmp *slot) becomes a call through the slot; the
 * stub's instructions are counted with the caller's, where they belong.
 */
#include "engines/native/fast.h"
#include "engines/native/assemble.h"
#include "engines/native/maps.h"
#include "engines/native/record.h"
#include "engines/native/translation.h"

/* A member of the newest shadow entry, from `top` on. */
#define NEWEST(member)                                                                             \
    ((int8_t)((int)offsetof(struct stack_entry, member) - (int)sizeof(struct stack_entry)))

#define SLOT_MASK ((CHILD_SLOTS - 1) * (uint32_t)sizeof(struct child_slot))

/* ---- tables ---- */

static uint32_t site_hash(uint32_t site)
{
    return site * 0x9e3779b1u & ~31u;
}

static struct child_slot *slot_at(const struct native_thread *thread, uint32_t hash)
{
    return (struct child_slot *)((uint8_t *)thread->children + (hash & SLOT_MASK));
}

static uint8_t context_slot(uint32_t site)
{
    return offsetof(struct context, slots) + site % CONTEXT_SLOTS * sizeof(struct context_slot);
}

struct child_slot *fast_call_slot(const struct native_thread *thread, const struct context *context,
                                  uint32_t site)
{
    return slot_at(thread, (context_number(context) << 5) + site_hash(site));
}

struct child_slot *fast_indirect_slot(const struct native_thread *thread,
                                      const struct context *context, uint32_t site, uint64_t target)
{
    return slot_at(thread, (context_number(context) << 5) + site_hash(site) + 2 * (uint32_t)target);
}

/* An entry: code in the low half, the upper bits of the pc in the high half. */
#define JUMP_MIX 0x9e3bu

void fast_remember_jump(uint64_t pc, uint64_t code)
{
    uint32_t upper = pc >> 16;
    uint16_t at = (uint16_t)(upper * JUMP_MIX ^ (uint32_t)pc);
    uint64_t *table = (uint64_t *)cache_writable(0);
    if (pc >> 48)
        return;
    __atomic_store_n(&table[at], (uint64_t)upper << 32 | code, __ATOMIC_RELEASE);
}

/* ---- pieces of sequences ---- */

/* What ran, and `count` more, belongs to the context in register `context`; borrows `other`. */
static void emit_settle(struct emitter *e, unsigned context, unsigned other, unsigned count)
{
    emit_load(e, other, FIELD(instructions));
    if (count)
        op_constant8(e, 0, other, count);
    op_memory(e, OP_ADD_TO, other, context, CONTEXT(self_instructions));
    emit_bytes(e, "\x65\x48\xc7\x04\x25", 5); /* mov qword gs:[...], 0 */
    emit_u32(e, FIELD(instructions));
    emit_u32(e, 0);
}

/* eax = (number of the context in `context`) * 32 + constant */
static void emit_hash(struct emitter *e, unsigned context, uint32_t site)
{
    load_context_number(e, context);
    emit_bytes(e, "\xc1\xe0\x05", 3); /* shl eax, 5 */
    op_constant32(e, 0, RAX, site_hash(site));
}

/* The address of the slot, from the hash in eax. */
static void emit_slot(struct emitter *e)
{
    op_constant32(e, 4, RAX, SLOT_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(children));
}

/* Pushes the shadow entry; `top` is borrowed, `context` too if `sp` differs. */
static void emit_shadow_push(struct emitter *e, unsigned top, unsigned context, uint64_t return_address,
                             uint64_t landing)
{
    op_memory(e, OP_STORE, context, top, offsetof(struct stack_entry, context));
    if (fits_in_32(return_address)) {
        store_constant(e, top, offsetof(struct stack_entry, return_address), return_address);
    } else {
        emit_constant(e, context, return_address);
        op_memory(e, OP_STORE, context, top, offsetof(struct stack_entry, return_address));
    }
    emit_bytes(e, "\x48\x8d", 2); /* lea context, [rsp + 8] */
    emit_byte(e, 0x44 | context << 3);
    emit_bytes(e, "\x24\x08", 2);
    op_memory(e, OP_STORE, context, top, offsetof(struct stack_entry, stack_pointer));
    store_constant(e, top, offsetof(struct stack_entry, code), landing);
    op_constant8(e, 0, top, sizeof(struct stack_entry));
    emit_store(e, FIELD(hot.top), top);
}

/* add qword [context + calls], 1 */
static void emit_call_count(struct emitter *e, unsigned context)
{
    emit_bytes(e, "\x48\x83", 2);
    emit_byte(e, 0x40 | context);
    emit_byte(e, CONTEXT(calls));
    emit_byte(e, 1);
}

/* ---- calls ---- */

unsigned plt_stub(uint64_t target, uint64_t *slot)
{
    struct instruction instruction;
    struct code_place place = code_map_find(&core.code, target);
    uint64_t at = target, end = maps_executable_end(target);
    unsigned count = 0;
    if (!place.plt)
        return 0;
    while (count < 3 && at < end) {
        unsigned left = end - at < 15 ? end - at : 15;
        if (!instruction_decode((const uint8_t *)at, left, &instruction))
            return 0;
        count++;
        at += instruction.length;
        if (instruction.class == CLASS_JUMP_INDIRECT && instruction.rip_relative) {
            *slot = at + instruction.displacement;
            return count;
        }
        bool is_endbr = instruction.map == 1 && instruction.opcode == 0x1e;
        if (!is_endbr)
            return 0;
    }
    return 0;
}

static uint32_t call_site(struct translation *t, unsigned index)
{
    uint64_t pc = t->pc + t->offsets[index];
    return tree_site(&core.tree, pc, code_map_find(&core.code, pc).module);
}

/* The continuation follows in this block, unless the call ends it. */
static bool lands_here(const struct translation *t, unsigned index)
{
    return index + 1 < t->count;
}

/* Where returns land: here, or at a way to the block that begins there. */
static uint64_t other_landing(struct translation *t, unsigned index)
{
    uint64_t next = t->pc + t->offsets[index + 1];
    struct emitter cold = cold_begin();
    uint64_t landing = cold.address;
    restore_all(&cold, !flags_dead_at(next));
    emit_align_patch(&cold, 1);
    emit_byte(&cold, 0xe9);
    emit_linkable(&cold, new_exit(t, index, EXIT_JUMP, next));
    cold_end(&cold);
    return landing;
}

static void emit_landing(struct translation *t, unsigned index)
{
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    restore_all(&t->code, !flags_dead(t, index + 1));
}

/* A sequence that needs the landing's address before the landing is emitted: the address is
 * patched into the 32-bit constants that stand for it. */
#define LANDING_UNKNOWN 0x7fffffffu

static void patch_landing(uint8_t *start, const uint8_t *end, uint32_t landing)
{
    for (uint8_t *at = start; at + 4 <= end; at++) {
        uint32_t word;
        memcpy(&word, at, 4);
        if (word == LANDING_UNKNOWN) {
            memcpy(at, &landing, 4);
            return;
        }
    }
}

static void finish_call(struct translation *t, unsigned index, uint8_t *start, uint32_t id)
{
    uint64_t landing;
    if (lands_here(t, index)) {
        landing = t->code.address;
        emit_landing(t, index);
    } else {
        landing = other_landing(t, index);
    }
    patch_landing(start, t->code.out, landing);
    cache.exits[id].landing = landing;
}

/* The child is not beside the context in rcx: it may be in the table. On to `back` with it in rax. */
static uint64_t cold_child(uint32_t site, uint64_t miss, uint64_t back)
{
    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    emit_hash(e, RCX, site);
    emit_slot(e);
    emit_constant(e, RDX, site);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct child_slot, key));
    jump_if(e, IF_NOT_EQUAL, miss);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct child_slot, child));
    store_constant(e, RCX, context_slot(site) + offsetof(struct context_slot, site), site);
    op_memory(e, OP_STORE, RAX, RCX, context_slot(site) + offsetof(struct context_slot, child));
    emit_jump(e, back);
    cold_end(e);
    return address;
}

/* rax = the child of the context in rcx. */
static void emit_child(struct emitter *e, uint32_t site, uint64_t miss)
{
    const unsigned compare_bytes = 8, branch_bytes = 6, load_bytes = 4;
    uint64_t back = e->address + compare_bytes + branch_bytes + load_bytes;
    uint64_t elsewhere = cold_child(site, miss, back);
    emit_bytes(e, "\x48\x81\x79", 3); /* cmp qword [rcx + ...], site */
    emit_byte(e, context_slot(site) + offsetof(struct context_slot, site));
    emit_u32(e, site);
    jump_if(e, IF_NOT_EQUAL, elsewhere);
    op_memory(e, OP_LOAD, RAX, RCX, context_slot(site) + offsetof(struct context_slot, child));
}

_Static_assert(sizeof(struct context) <= 128, "slots are reached with eight-bit offsets");

static void emit_direct_call(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    uint64_t target = branch_target(t, index), next = t->pc + t->offsets[index + 1];
    bool flags = !flags_dead_at(target);
    uint32_t site = call_site(t, index);
    uint32_t id = new_exit(t, index, EXIT_CALL, target);
    uint64_t miss = cold_exit(id, flags, t->folded);
    uint8_t *start = e->out;
    cache.exits[id].site = site;
    emit_push_constant(e, next);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    emit_load(e, RCX, FIELD(hot.current));
    emit_child(e, site, miss);
    emit_load(e, RDX, FIELD(hot.top));
    op_thread(e, OP_COMPARE, RDX, FIELD(hot.limit));
    jump_if(e, IF_EQUAL, miss);
    emit_store(e, FIELD(hot.current), RAX);
    emit_call_count(e, RAX);
    emit_settle(e, RCX, RAX, t->folded);
    emit_shadow_push(e, RDX, RCX, next, LANDING_UNKNOWN);
    restore_all(e, flags);
    emit_align_patch(e, 1);
    emit_byte(e, 0xe9);
    emit_linkable(e, new_exit(t, index, EXIT_ENTER, target));
    finish_call(t, index, start, id);
}

/* The target is in rcx and in thread.target, the return address is pushed; rcx alone is spilled. */
static void emit_call_through(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    uint64_t next = t->pc + t->offsets[index + 1];
    uint32_t site = call_site(t, index);
    uint32_t id = new_exit(t, index, EXIT_CALL_INDIRECT, 0);
    uint64_t miss = cold_exit(id, true, t->folded);
    uint8_t *start = e->out;
    cache.exits[id].site = site;
    emit_spill(e, RAX);
    save_flags(e);
    emit_spill(e, RDX);
    emit_load(e, RDX, FIELD(hot.current));
    emit_hash(e, RDX, site);
    emit_bytes(e, "\x8d\x04\x48", 3); /* lea eax, [rax + rcx * 2] */
    emit_slot(e);
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct child_slot, target));
    jump_if(e, IF_NOT_EQUAL, miss);
    emit_constant(e, RCX, site);
    op_memory(e, OP_ADD, RCX, RDX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct child_slot, key));
    jump_if(e, IF_NOT_EQUAL, miss);
    emit_load(e, RCX, FIELD(hot.top));
    op_thread(e, OP_COMPARE, RCX, FIELD(hot.limit));
    jump_if(e, IF_EQUAL, miss);
    emit_store(e, FIELD(slot), RAX);
    emit_settle(e, RDX, RAX, t->folded);
    emit_shadow_push(e, RCX, RDX, next, LANDING_UNKNOWN);
    emit_load(e, RAX, FIELD(slot));
    op_memory(e, OP_LOAD, RCX, RAX, offsetof(struct child_slot, child));
    emit_store(e, FIELD(hot.current), RCX);
    emit_call_count(e, RCX);
    emit_bytes(e, "\xff\x60", 2); /* jmp [rax + code] */
    emit_byte(e, offsetof(struct child_slot, code));
    finish_call(t, index, start, id);
}

/* rcx = target; spills rcx. */
static void emit_load_target(struct translation *t, unsigned index)
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
    add_mark(t, MARK_PROGRAM, here, 1 << RCX, t->ahead);
    emit_store(e, FIELD(target), RCX);
}

/* rcx = the word at `slot`; spills rcx. */
static void emit_load_slot(struct emitter *e, uint64_t slot)
{
    emit_spill(e, RCX);
    emit_constant(e, RCX, slot);
    op_memory(e, OP_LOAD, RCX, RCX, 0);
    emit_store(e, FIELD(target), RCX);
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
        emit_push_constant(e, next);
        add_mark(t, MARK_ENGINE, 0, 0, 0);
        emit_load_slot(e, slot);
        emit_call_through(t, index);
    } else if (direct) {
        emit_direct_call(t, index);
    } else {
        emit_load_target(t, index);
        add_mark(t, MARK_PROGRAM, t->offsets[index], 1 << RCX, t->ahead);
        emit_push_constant(e, next);
        add_mark(t, MARK_ENGINE, 0, 0, 0);
        emit_call_through(t, index);
    }
}

/* ---- returns ---- */

void emit_return(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    const struct instruction *instruction = &t->instructions[index];
    uint32_t id = new_exit(t, index, EXIT_RETURN, 0);
    uint16_t pops = instruction->immediate;
    cache.exits[id].pops = pops;

    struct emitter cold = cold_begin();
    uint64_t slow = cold.address;
    emit_store(&cold, FIELD(target), RCX);
    add_instructions(&cold, t->folded);
    if (pops) {
        emit_bytes(&cold, "\x48\x8d\xa4\x24", 4); /* lea rsp, [rsp + n] */
        emit_u32(&cold, pops);
    }
    restore_all(&cold, true);
    emit_stub(&cold, id);
    cold_end(&cold);

    emit_spill(e, RCX);
    add_mark(t, MARK_PROGRAM, t->offsets[index], 1 << RCX, t->ahead);
    emit_byte(e, 0x59); /* pop rcx */
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    save_flags(e);
    emit_spill(e, RDX);
    emit_load(e, RDX, FIELD(hot.top));
    op_memory(e, OP_COMPARE, RCX, RDX, NEWEST(return_address));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_memory(e, OP_COMPARE, RSP, RDX, NEWEST(stack_pointer));
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_load(e, RCX, FIELD(hot.current));
    emit_settle(e, RCX, RAX, t->folded);
    op_memory(e, OP_LOAD, RCX, RDX, NEWEST(context));
    emit_store(e, FIELD(hot.current), RCX);
    op_memory(e, OP_LOAD, RCX, RDX, NEWEST(code));
    op_constant8(e, 5, RDX, sizeof(struct stack_entry));
    emit_store(e, FIELD(hot.top), RDX);
    if (pops) {
        emit_bytes(e, "\x48\x8d\xa4\x24", 4);
        emit_u32(e, pops);
    }
    emit_bytes(e, "\xff\xe1", 2); /* jmp rcx */
}

/* The return was an ordinary one, but the code behind the call is not known: the popped entry,
 * which rdx points to, still has the address. */
static uint64_t plain_landing;

uint64_t fast_plain_landing(void)
{
    if (plain_landing)
        return plain_landing;
    uint32_t id = cache_add_exit();
    cache.exits[id].kind = EXIT_LANDED;
    struct emitter cold = cold_begin();
    plain_landing = cold.address;
    op_memory(&cold, OP_LOAD, RCX, RDX, offsetof(struct stack_entry, return_address));
    emit_store(&cold, FIELD(target), RCX);
    restore_all(&cold, true);
    emit_stub(&cold, id);
    cold_end(&cold);
    return plain_landing;
}

/* Other threads may be pushing and popping; any entry does with this landing. */
void fast_forget_landings(uint64_t start, uint64_t end)
{
    for (struct stack *stack = core.stacks; stack; stack = stack->next)
        for (struct stack_entry *entry = stack->base; entry < stack->limit; entry++)
            if (entry->return_address >= start && entry->return_address < end)
                entry->code = fast_plain_landing();
}

/* ---- indirect jumps ---- */

/* rcx = target, rcx is spilled. */
static void emit_jump_through(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    uint64_t slow = cold_exit(new_exit(t, index, EXIT_JUMP_INDIRECT, 0), true, 0);
    emit_spill(e, RAX);
    save_flags(e);
    add_instructions(e, t->folded);
    emit_spill(e, RDX);
    emit_load(e, RDX, FIELD(hot.top));
    op_memory(e, OP_LOAD, RAX, RDX, NEWEST(stack_pointer));
    op_constant8(e, 5, RAX, 8);
    op_register(e, OP_SUB, RAX, RSP);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.reach));
    jump_if(e, IF_ABOVE, slow);
    op_register(e, OP_LOAD, RDX, RCX);
    emit_bytes(e, "\x48\xc1\xea\x10", 4); /* shr rdx, 16 */
    emit_bytes(e, "\x69\xc2", 2);         /* imul eax, edx, JUMP_MIX */
    emit_u32(e, JUMP_MIX);
    op_register32(e, OP_XOR, RAX, RCX);
    emit_bytes(e, "\x0f\xb7\xc0", 3);         /* movzx eax, ax */
    emit_bytes(e, "\x48\x8b\x04\xc5", 4);     /* mov rax, [rax * 8 + table] */
    emit_u32(e, CACHE_START);
    op_register32(e, OP_LOAD, RCX, RAX);      /* code */
    emit_bytes(e, "\x48\xc1\xe8\x20", 4);     /* shr rax, 32 */
    op_register32(e, OP_COMPARE, RAX, RDX);
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_bytes(e, "\xff\xe1", 2);
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
    } else {
        emit_load_target(t, index);
    }
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    if (t->plt) {
        emit_unspill(e, RCX);
        emit_stub(e, new_exit(t, index, EXIT_JUMP_INDIRECT, 0));
        return;
    }
    emit_jump_through(t, index);
}

bool folds_count(const struct translation *t, unsigned index)
{
    uint64_t slot;
    switch (t->instructions[index].class) {
    case CLASS_CALL: return branch_target(t, index) != t->pc + t->offsets[index + 1];
    case CLASS_CALL_INDIRECT:
    case CLASS_RETURN: return true;
    case CLASS_JUMP_INDIRECT: return !t->plt;
    case CLASS_JUMP: return !t->plt && plt_stub(branch_target(t, index), &slot);
    default: return false;
    }
}

/* ---- entries of blocks ---- */

static void emit_to_block(struct emitter *e, struct block *block)
{
    restore_all(e, !flags_dead_at(block->pc));
    emit_jump(e, CACHE_START + block->code);
}

uint64_t fast_call_entry(struct block *block)
{
    if (!block->call_entry) {
        struct emitter cold = cold_begin();
        block->call_entry = cold.address;
        emit_to_block(&cold, block);
        cold_end(&cold);
    }
    return block->call_entry;
}

/* The current context becomes the one remembered for (context, this block); registers and flags
 * are saved away. */
static uint64_t transition(struct block *block)
{
    if (block->transition)
        return block->transition;
    uint32_t number = TRANSITION | (uint32_t)(block - cache.blocks);
    uint32_t id = cache_add_exit();
    cache.exits[id] = (struct exit){.kind = EXIT_MISMATCH, .target = block->pc};
    uint64_t miss = cold_exit(id, true, 0);
    struct emitter cold = cold_begin(), *e = &cold;
    block->transition = cold.address;
    emit_load(e, RCX, FIELD(hot.current));
    emit_hash(e, RCX, number);
    emit_slot(e);
    emit_constant(e, RDX, number);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct child_slot, key));
    jump_if(e, IF_NOT_EQUAL, miss);
    op_memory(e, OP_LOAD, RDX, RAX, offsetof(struct child_slot, child));
    emit_store(e, FIELD(hot.current), RDX);
    emit_call_count(e, RDX);
    emit_settle(e, RCX, RDX, 0);
    emit_to_block(e, block);
    cold_end(e);
    return block->transition;
}

uint64_t fast_jump_entry(struct block *block)
{
    if (block->jump_entry)
        return block->jump_entry;
    uint64_t change = transition(block);
    struct emitter cold = cold_begin(), *e = &cold;
    block->jump_entry = cold.address;
    emit_load(e, RCX, FIELD(hot.current));
    op_memory(e, OP_LOAD, RCX, RCX, CONTEXT(code));
    if (block->function) {
        emit_constant(e, RDX, (uint64_t)block->function);
        op_register(e, OP_COMPARE, RCX, RDX);
        jump_if(e, IF_NOT_EQUAL, change);
    } else {
        emit_bytes(e, "\xf6\x41", 2); /* test byte [rcx + flags], CODE_FUNCTION_ANONYMOUS */
        emit_byte(e, offsetof(struct code_function, flags));
        emit_byte(e, CODE_FUNCTION_ANONYMOUS);
        jump_if(e, IF_EQUAL, change);
    }
    emit_to_block(e, block);
    cold_end(e);
    return block->jump_entry;
}

uint64_t fast_transition_entry(struct block *block)
{
    if (block->transition_entry)
        return block->transition_entry;
    uint64_t change = transition(block);
    uint32_t id = cache_add_exit();
    cache.exits[id] = (struct exit){.kind = EXIT_MISMATCH, .target = block->pc};
    uint64_t slow = cold_exit(id, true, 0);
    struct emitter cold = cold_begin(), *e = &cold;
    block->transition_entry = cold.address;
    emit_spill(e, RAX);
    save_flags(e);
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    emit_load(e, RDX, FIELD(hot.top));
    op_memory(e, OP_LOAD, RAX, RDX, NEWEST(stack_pointer));
    op_constant8(e, 5, RAX, 8);
    op_register(e, OP_SUB, RAX, RSP);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.reach));
    jump_if(e, IF_ABOVE, slow);
    emit_jump(e, change);
    cold_end(e);
    return block->transition_entry;
}

void fast_init(void)
{
    plain_landing = 0;
}

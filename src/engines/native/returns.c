/*
 * returns.c: see returns.h.
 *
 * A return pops the address and goes straight to the newest shadow entry's `code`, the landing
 * behind the call. That one sees, without a flag, that the address is its own, then that the stack
 * pointer is the entry's; it settles the count, pops the entry and goes on. A return that went
 * elsewhere has changed no flag, and leaves the cache.
 */
#include "engines/native/returns.h"
#include "engines/native/assemble.h"
#include "engines/native/cpuid.h"
#include "engines/native/fast.h"
#include "engines/native/leaves.h"
#include "engines/native/record.h"
#include "engines/native/segments.h"
#include "engines/native/threads.h"

#define ENTRY(member) ((int8_t)offsetof(struct stack_entry, member))
/* What a function returns is in rax, and wanted soon: to put it away and back takes longer than all
 * the rest. In rcx and rsi it leaves nothing that anybody reads, though they are kept too. */
#define RCX_RSI (1 << RCX | 1 << RSI)

/* Cache address. rcx: the address, popped; rcx and rsi are borrowed. */
static uint64_t slow_return;

/* ---- landings ---- */

/* The continuation follows in this block, unless the call ends it. */
static bool lands_here(const struct translation *t, unsigned index)
{
    return index + 1 < t->count;
}

/* reg += constant; flags stay. Borrows rdx for large ones. */
static void emit_add_constant(struct emitter *e, unsigned reg, uint64_t value)
{
    if (fits_in_32(value)) {
        op_far(e, OP_LEA, reg, reg, value);
        return;
    }
    emit_to_slot(e, RDX); /* rsi is borrowed too */
    emit_constant(e, RDX, value);
    emit_bytes(e, "\x48\x8d", 2); /* lea reg, [reg + rdx] */
    emit_byte(e, 0x04 | reg << 3);
    emit_byte(e, RDX << 3 | reg);
    emit_from_slot(e, RDX);
}

/* rcx is zero if it was `address`; on if so, else by way of the jump's target. Flags stay. */
void emit_verify(struct emitter *e, uint64_t address, uint64_t otherwise)
{
    emit_add_constant(e, RCX, -address);
    emit_bytes(e, "\xe3\x05", 2); /* jrcxz over the jump */
    emit_jump(e, otherwise);
}

/* `loop` is a branch that need not be taken where all is well, and knows no flags; but some processors
 * take several times as long for it as for the rest. */
static bool loop_is_cheap;

uint64_t emit_before_verify(struct emitter *e, uint64_t otherwise)
{
    const unsigned far = 64; /* a byte of displacement, and what stands before it */
    uint64_t before = e->address;
    if (!loop_is_cheap || before - otherwise < far)
        return otherwise;
    emit_jump(e, otherwise);
    return before;
}

void emit_verify_entry(struct emitter *e, uint64_t address, uint64_t before)
{
    if (!loop_is_cheap) {
        emit_verify(e, address, before);
        return;
    }
    emit_add_constant(e, RCX, 1 - address);
    emit_byte(e, 0xe2); /* loop: rcx -= 1, back if it is not zero */
    emit_byte(e, before - (e->address + 1));
}

void emit_verify_ahead(struct translation *t, uint64_t address, uint64_t otherwise)
{
    struct emitter *e = &t->code;
    if (!loop_is_cheap) {
        emit_verify(e, address, otherwise);
        return;
    }
    emit_add_constant(e, RCX, 1 - address);
    emit_bytes(e, "\xe2\x00", 2); /* loop */
    t->unverified.end = e->out;
    t->unverified.address = e->address;
    t->unverified.otherwise = otherwise;
}

void emit_end_verify(struct translation *t)
{
    struct emitter *e = &t->code;
    if (!t->unverified.end)
        return;
    uint64_t distance = e->address - t->unverified.address;
    if (distance > 127)
        fail("a call's sequence is too long", NULL);
    t->unverified.end[-1] = distance;
    t->unverified.end = NULL;
    emit_jump(e, t->unverified.otherwise);
}

uint64_t cold_unverified(uint64_t address, uint64_t to)
{
    struct emitter cold = cold_begin();
    uint64_t at = cold.address;
    emit_add_constant(&cold, RCX, address);
    emit_jump(&cold, to);
    cold_end(&cold);
    return at;
}

uint64_t cold_other_stack(uint64_t next, bool flags, uint64_t to)
{
    struct emitter cold = cold_begin();
    uint64_t at = cold.address;
    restore(&cold, flags, flags ? 1 << RAX : 0);
    emit_constant(&cold, RCX, next);
    emit_jump(&cold, to);
    cold_end(&cold);
    return at;
}

/* rcx is the address that was popped, rsi the shadow stack's top; both are borrowed. */
struct landing {
    uint64_t next;
    bool flags;      /* are live there */
    unsigned counts; /* what follows is counted here */
    uint64_t wrong, other_stack;
};

static struct landing landing_plan(uint64_t next, bool flags)
{
    struct landing landing = {next, flags, 0, cold_unverified(next, slow_return), 0};
    landing.other_stack = cold_other_stack(next, flags, slow_return);
    return landing;
}

static void landing_emit(struct emitter *e, const struct landing *landing)
{
    const int8_t newest = -(int8_t)sizeof(struct stack_entry);
    emit_verify_entry(e, landing->next, landing->wrong);
    if (landing->flags) {
        emit_spill(e, RAX);
        save_flags(e);
    }
    op_memory(e, OP_COMPARE, RSP, RSI, newest + ENTRY(stack_pointer));
    jump_if(e, IF_NOT_EQUAL, landing->other_stack);
    if (options.line_detail) {
        op_memory(e, OP_LOAD, RCX, RSI, newest + ENTRY(context));
        line_counters_emit_check(e, RCX, landing->other_stack);
        emit_change_context(e, RCX, RCX, false);
    } else {
        op_memory(e, OP_LOAD, RCX, RSI, ENTRY(context));
        vectors_emit_settle_from(e, RCX, landing->counts);
    }
    vectors_emit_pop(e);
    restore(e, landing->flags, landing->flags ? 1 << RAX | RCX_RSI : RCX_RSI);
}

uint64_t returns_make_landing(uint32_t id)
{
    const struct exit call = cache.exits[id];
    uint64_t next = call.pc + call.length;
    struct landing landing = landing_plan(next, !flags_dead_at(next));
    uint32_t on = cache_add_exit();
    cache.exits[on] = (struct exit){.kind = EXIT_JUMP,
                                    .block = call.block,
                                    .target = next,
                                    .pc = call.pc,
                                    .length = call.length};
    struct emitter cold = cold_begin();
    landing.wrong = emit_before_verify(&cold, landing.wrong);
    uint64_t address = cold.address;
    landing_emit(&cold, &landing);
    emit_align_patch(&cold, 1);
    emit_byte(&cold, 0xe9);
    emit_linkable(&cold, on);
    cold_end(&cold);
    return address;
}

static uint64_t emit_landing(struct translation *t, unsigned index)
{
    struct landing landing = landing_plan(t->pc + t->offsets[index + 1], !flags_dead(t, index + 1));
    landing.counts = t->counted_ahead = counts_at_landing(t, index);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    landing.wrong = emit_before_verify(&t->code, landing.wrong);
    uint64_t address = t->code.address;
    landing_emit(&t->code, &landing);
    return address;
}

/* LANDING_UNKNOWN, wherever it stands in the sequence, becomes the address. */
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

void returns_finish_call(struct translation *t, unsigned index, uint8_t *start, uint32_t id)
{
    uint64_t landing = lands_here(t, index) ? emit_landing(t, index) : returns_make_landing(id);
    patch_landing(start, t->code.out, landing);
    cache.exits[id].landing = landing;
}

/* ---- returns ---- */

/* ret n, which no compiler makes any more. */
static void emit_slow_return(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    uint32_t id = new_exit(t, index, EXIT_RETURN, 0);
    uint16_t pops = t->instructions[index].immediate;
    cache.exits[id].pops = pops;
    emit_store(e, FIELD(target), RCX);
    vectors_emit_count(e, t->folded);
    emit_bytes(e, "\x48\x8d\xa4\x24", 4); /* lea rsp, [rsp + n] */
    emit_u32(e, pops);
    emit_unspill(e, RCX);
    emit_stub(e, id);
}

void emit_return(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    if (t->leaf) {
        leaves_emit_return(t, index);
        return;
    }
    emit_spill(e, RCX);
    add_mark(t, MARK_PROGRAM, t->offsets[index], 1 << RCX, t->ahead);
    emit_byte(e, 0x59); /* pop rcx */
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    if (t->instructions[index].immediate) {
        emit_slow_return(t, index);
        return;
    }
    emit_spill(e, RSI);
    vectors_emit_count(e, t->folded);
    lines_emit_folded(e, &t->folded_line, RSI);
    vectors_emit_load_top(e, RSI);
    emit_bytes(e, "\xff\x66", 2); /* jmp [rsi + the newest entry's code] */
    emit_byte(e, ENTRY(code) - (int)sizeof(struct stack_entry));
}

/* Other threads may be pushing and popping; any entry does with this landing. */
void returns_forget(uint64_t start, uint64_t end)
{
    threads_forget_leaves();
    for (struct stack *stack = core.stacks; stack; stack = stack->next)
        for (struct stack_entry *entry = stack->base; entry < stack->limit; entry++)
            if (entry->return_address >= start && entry->return_address < end)
                entry->code = slow_return;
}

void returns_forget_all(const struct native_thread *thread)
{
    threads_forget_leaves();
    for (struct stack *stack = core.stacks; stack; stack = stack->next) {
        const struct stack_entry *top =
            stack == thread->thread->stack ? thread->hot.top : stack->saved.top;
        for (struct stack_entry *entry = stack->base; entry < top; entry++)
            entry->code = slow_return;
    }
}

void returns_forget_code(uint64_t start, uint64_t end)
{
    for (struct stack *stack = core.stacks; stack; stack = stack->next)
        for (struct stack_entry *entry = stack->base; entry < stack->limit; entry++)
            if (entry->code >= start && entry->code < end && entry->code != slow_return)
                entry->code = slow_return;
}

/* Other threads may be pushing and popping, but what they push now is theirs to renew. */
void returns_forget_old(void)
{
    for (struct stack *stack = core.stacks; stack; stack = stack->next)
        for (struct stack_entry *entry = stack->base; entry < stack->limit; entry++)
            if (cache_is_old(entry->code))
                entry->code = slow_return;
}

static bool is_amd(void)
{
    return cpuid(0, 0).edx == 0x69746e65; /* AuthenticAMD */
}

uint64_t returns_init(void)
{
    loop_is_cheap = is_amd() && !options.slow_loop;
    uint32_t id = cache_add_exit();
    cache.exits[id].kind = EXIT_RETURN;
    struct emitter cold = cold_begin();
    slow_return = cold.address;
    emit_store(&cold, FIELD(target), RCX);
    restore(&cold, false, RCX_RSI);
    emit_stub(&cold, id);
    cold_end(&cold);
    return slow_return;
}

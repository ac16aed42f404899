/* leaves.c: see leaves.h. */
#include "engines/native/leaves.h"
#include "engines/native/assemble.h"
#include "engines/native/children.h"
#include "engines/native/foreseen.h"
#include "engines/native/maps.h"
#include "engines/native/python_watch.h"
#include "engines/native/record.h"
#include "engines/native/returns.h"
#include "engines/native/translate.h"
#include "engines/native/turns.h"
#include "engines/x86_64/code_reader.h"

#define RAX_RCX (1 << RAX | 1 << RCX)

/* Cache address. rcx: the address that was popped; rcx alone is borrowed. */
static uint64_t slow_return;

/* ---- which functions ---- */

#define LEAF_BYTES_MAX 2048

/* What is known of a function: code_function.engine_note. */
enum leaf_note { LEAF_UNKNOWN, LEAF_EXPECTED, LEAF_NOT };

/* Can a leaf do it? Branches only within [start, end). */
static bool is_for_leaves(const struct instruction *instruction, uint64_t next, uint64_t start,
                          uint64_t end)
{
    uint64_t target = next + instruction->immediate;
    switch (instruction->class) {
    case CLASS_ORDINARY:
        return true;
    case CLASS_JUMP:
    case CLASS_JUMP_IF:
        return target >= start && target < end;
    case CLASS_RETURN:
        return !instruction->immediate;
    default:
        return false;
    }
}

/* Functions with a call are left out, even if they rarely get to it: what they gain until then is
 * less than it costs to translate them twice. */
static bool looks_like_leaf(const struct code_function *function)
{
    uint64_t start = function->start + function->module->bias;
    uint64_t end = function->end + function->module->bias;
    if (end - start > LEAF_BYTES_MAX || end > maps_executable_end(start))
        return false;
    struct code_reader reader;
    struct instruction instruction;
    code_reader_init(&reader, start, end);
    while (code_reader_next(&reader, &instruction))
        if (!is_for_leaves(&instruction, reader.at, start, end))
            return false;
    return end > start && reader.at == end;
}

bool leaves_expect(const struct translation *t, uint64_t target)
{
    if (options.line_detail || turns_are_on() || t->checked || t->plt)
        return false;
    struct code_place place = code_map_peek(&core.code, target);
    struct code_function *function = place.function;
    if (!function || place.plt || target != function->start + function->module->bias)
        return false;
    if (function->engine_note == LEAF_UNKNOWN) {
        bool ordinary = !maps_may_change(target) && !code_function_swaps(function) &&
                        !python_watched(&place) && !python_ends_code(&place, target);
        function->engine_note = ordinary && looks_like_leaf(function) ? LEAF_EXPECTED : LEAF_NOT;
    }
    return function->engine_note == LEAF_EXPECTED;
}

/* To make a frame the cache is left, which costs many times what a leaf gains: there had better be
 * many of them for each. How many there were is known of each context only. */
static void note_frame(const struct context *context, const struct exit *exit)
{
    const unsigned trial = 8, worth = 64;
    struct code_function *function = context->code;
    function->engine_count++;
    if (function->engine_count < trial || context->calls > (uint64_t)worth * function->engine_count)
        return;
    function->engine_note = LEAF_NOT;
    cache_remake(exit->pc);
}

/* ---- calls ---- */

void leaves_emit_before_push(struct emitter *e)
{
    emit_store(e, FIELD(leaf.stack_pointer), RSP);
}

/* The count of the leaf becomes the child's, which is looked for only now. rcx is borrowed. */
struct leaf_landing {
    uint64_t next;
    bool flags; /* are live there */
    uint64_t wrong, other_stack;
};

/* rcx: the address; flags are the program's. What is wrong there goes on as a return of a frame. */
static struct leaf_landing landing_plan(uint64_t next, bool flags)
{
    struct leaf_landing landing = {next, flags, cold_unverified(next, slow_return), 0};
    landing.other_stack = cold_other_stack(next, flags, slow_return);
    return landing;
}

static struct child_lookup landing_emit(struct emitter *e, const struct leaf_landing *landing,
                                        const struct step *step)
{
    emit_verify_entry(e, landing->next, landing->wrong);
    if (landing->flags) {
        emit_spill(e, RAX);
        save_flags(e);
    }
    op_thread(e, OP_COMPARE, RSP, FIELD(leaf.stack_pointer));
    jump_if(e, IF_NOT_EQUAL, landing->other_stack);
    struct child_lookup lookup = emit_child_in_place(e, step);
    vectors_emit_settle_leaf(e, RCX);
    restore(e, landing->flags, landing->flags ? RAX_RCX : 1 << RCX);
    return lookup;
}

/* Whose landing it is stands before it. */
static uint64_t emit_landing_here(struct translation *t, unsigned index, uint32_t id,
                                  const struct step *step)
{
    struct emitter *e = &t->code;
    struct leaf_landing landing =
        landing_plan(t->pc + t->offsets[index + 1], !flags_dead(t, index + 1));
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    landing.wrong = emit_before_verify(e, landing.wrong);
    emit_u32(e, id);
    uint64_t address = e->address;
    struct child_lookup lookup = landing_emit(e, &landing, step);
    finish_in_place(&lookup, step, landing.flags, landing.other_stack);
    return address;
}

static uint64_t emit_landing_apart(struct translation *t, unsigned index, uint32_t id,
                                   const struct step *step)
{
    uint64_t next = t->pc + t->offsets[index + 1];
    struct leaf_landing landing = landing_plan(next, !flags_dead_at(next));
    struct emitter cold = cold_begin();
    landing.wrong = emit_before_verify(&cold, landing.wrong);
    emit_u32(&cold, id);
    uint64_t address = cold.address;
    struct child_lookup lookup = landing_emit(&cold, &landing, step);
    emit_align_patch(&cold, 1);
    emit_byte(&cold, 0xe9);
    emit_linkable(&cold, new_exit(t, index, EXIT_JUMP, next));
    cold_end(&cold);
    finish_in_place(&lookup, step, landing.flags, landing.other_stack);
    return address;
}

/* mov qword gs:[leaf.code], landing. All of it, though the upper half is always zero: the return would
 * wait for the store of a part. */
static uint8_t *emit_note_landing(struct emitter *e)
{
    emit_bytes(e, "\x65\x48\xc7\x05", 4);
    emit_u32(e, FIELD(leaf.code) - (e->address + 8));
    emit_u32(e, 0);
    return e->out - 4;
}

void leaves_emit_call(struct translation *t, unsigned index, uint64_t target, bool foreseen)
{
    struct emitter *e = &t->code;
    bool here = index + 1 < t->count;
    uint32_t id = new_exit(t, index, EXIT_CALL, target);
    const struct step step = {t->function, call_site(t, index), target, false};
    cache.exits[id].site = step.number;
    /* The block goes on counting where it was, unless the count is looked at before. */
    t->carried = here && !t->python ? t->folded : 0;
    cache.exits[id].pops = t->carried;
    if (!t->carried)
        vectors_emit_count(e, t->folded);
    uint8_t *landing_at = emit_note_landing(e);
    if (foreseen)
        emit_unspill(e, RCX);
    emit_align_patch(e, 1);
    emit_byte(e, 0xe9);
    emit_linkable(e, new_exit(t, index, EXIT_LEAF_ENTER, target));
    emit_end_verify(t);
    uint64_t landing =
        here ? emit_landing_here(t, index, id, &step) : emit_landing_apart(t, index, id, &step);
    memcpy(landing_at, &(uint32_t){landing}, 4);
}

/* ---- blocks of leaves ---- */

bool leaves_end_at(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    uint64_t slot;
    switch (instruction->class) {
    case CLASS_CALL:
    case CLASS_CALL_INDIRECT:
    case CLASS_JUMP_INDIRECT:
        return true;
    case CLASS_JUMP:
        return plt_stub(t->pc + t->offsets[index] + instruction->length + instruction->immediate,
                        &slot);
    case CLASS_RETURN:
        return instruction->immediate;
    default:
        return false;
    }
}

void leaves_emit_return(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    emit_spill(e, RCX);
    add_mark(t, MARK_PROGRAM, t->offsets[index], 1 << RCX, t->ahead);
    emit_byte(e, 0x59); /* pop rcx */
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    vectors_emit_count(e, t->folded);
    emit_bytes(e, "\x65\xff\x25", 3); /* jmp gs:[leaf.code] */
    emit_u32(e, FIELD(leaf.code) - (e->address + 4));
}

void leaves_init(void)
{
    uint32_t id = cache_add_exit();
    cache.exits[id].kind = EXIT_LEAF_RETURN;
    struct emitter cold = cold_begin();
    slow_return = cold.address;
    emit_store(&cold, FIELD(target), RCX);
    emit_unspill(&cold, RCX);
    emit_stub(&cold, id);
    cold_end(&cold);
}

/* ---- outside of the cache ---- */

bool leaves_left_by(uint32_t id)
{
    const struct exit *exit = &cache.exits[id];
    return exit->kind == EXIT_LEAF_ENTER || exit->kind == EXIT_LEAF_RETURN ||
           (cache.blocks[exit->block].flags & BLOCK_LEAF);
}

/* The exit of the call that the leaf runs for. */
static uint32_t call_of(const struct native_thread *thread, uint64_t code)
{
    uint32_t id;
    if (code == slow_return)
        return thread->leaf.call;
    memcpy(&id, cache_writable(code - CACHE_START - 4), 4);
    return id;
}

struct block *leaves_go_on(struct native_thread *thread, uint32_t id)
{
    const struct exit exit = cache.exits[id];
    bool branches = exit.kind == EXIT_JUMP || exit.kind == EXIT_LEAF_ENTER;
    if (!branches || thread->plane_changed || thread->generation != cache.generation ||
        !cache_has_room() || turns_are_on())
        return NULL;
    const struct exit *call = &cache.exits[call_of(thread, thread->leaf.code)];
    const struct code_function *leaf = code_map_peek(&core.code, call->target).function;
    struct code_place place = code_map_peek(&core.code, exit.target);
    if (place.plt || !place.function || place.function != leaf || maps_may_change(exit.target))
        return NULL;
    struct block *block = translate_leaf(exit.target, (struct coming){.before = exit.before});
    if (block->function != leaf)
        return NULL; /* the core has found one that begins there */
    thread->pc = exit.target;
    cache_link(id, block, CACHE_START + block->code);
    return block;
}

/* The frame's return goes on where any call's does. */
static uint64_t full_landing(const struct native_thread *thread, uint32_t id)
{
    struct exit *exit = &cache.exits[id];
    if (thread->generation != cache.generation || cache_is_full())
        return core.no_landing;
    if (!exit->landing)
        cache.exits[id].landing = returns_make_landing(id);
    return cache.exits[id].landing;
}

void leaves_make_frame(struct native_thread *thread, bool is_returning)
{
    uint32_t id = call_of(thread, thread->leaf.code);
    const struct exit exit = cache.exits[id];
    uint64_t next = exit.pc + exit.length;
    thread->in_leaf = false;
    thread->instructions += exit.pops;
    record_settle(thread);
    struct context *caller = thread->hot.current;
    struct context *child = core_callee(&core, thread->thread, exit.site, exit.target);
    core_call_found(&core, thread->thread, child, next, thread->leaf.stack_pointer);
    thread->hot.top[-1].code = full_landing(thread, id);
    thread->instructions = thread->leaf_instructions;
    thread->calls = thread->leaf_calls - 1; /* the core has counted the call */
    thread->leaf_instructions = 0;
    thread->leaf_calls = 1;
    thread->leaf.code = 0;
    if (!child)
        return;
    fast_remember_call(thread, caller, exit.site, exit.target, child);
    if (!is_returning || thread->target != next)
        note_frame(child, &exit);
}

void leaves_forget(struct native_thread *thread)
{
    uint64_t code = __atomic_load_n(&thread->leaf.code, __ATOMIC_RELAXED);
    if (!code || code == slow_return)
        return;
    thread->leaf.call = call_of(thread, code);
    __atomic_compare_exchange_n(&thread->leaf.code, &code, slow_return, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

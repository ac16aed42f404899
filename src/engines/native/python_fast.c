/* python_fast.c: see python_fast.h. */
#include "engines/native/python_fast.h"
#include "core/platform.h"
#include "core/python.h"
#include "engines/native/children.h"
#include "engines/native/fast.h"
#include "engines/native/python_calls.h"
#include "engines/native/python_codes.h"
#include "engines/native/python_line.h"
#include "engines/native/python_pieces.h"
#include "engines/native/record.h"
#include "engines/native/text.h"
#include "engines/x86_64/python_prologue.h"

#define SLOT(member) ((int8_t)offsetof(struct child_slot, member))

/* Out of the cache, by thread.exit_id; in again, to thread.code. */
static uint64_t slow, enter;

/* For a module and a generation of the cache; the last few. A fault in [start, end) goes on at
 * `slow`. */
static struct shared {
    const struct python_module *module;
    uint32_t generation;
    bool knows_word;
    bool brings; /* the frame that the evaluator is called with */
    uint64_t start, end;
    uint64_t events[PYTHON_EVENTS];
} shared[4];
static unsigned shared_next;

static bool has_lines(void)
{
    return core.options.python_lines;
}

/* rax = the depth of the shadow stack */
static void emit_depth(struct emitter *e)
{
    vectors_emit_load_top(e, RAX);
    op_thread(e, OP_SUB, RAX, FIELD(hot.base));
}

/* ---- events ---- */

/* The core has seen no other interpreter since. */
static void emit_same_module(struct emitter *e, const struct python_module *module)
{
    emit_constant(e, RAX, (uint64_t)&core.python.module);
    emit_constant(e, RCX, (uint64_t)module);
    op_memory(e, OP_COMPARE, RCX, RAX, 0);
    jump_if(e, IF_NOT_EQUAL, slow);
}

/* rax = where the evaluator, which is at its first instruction, has the word. */
static void emit_word(struct emitter *e, const struct python_module *module)
{
    if (!module->layout.has_c_frame) {
        emit_bytes(e, "\x48\x8d\x87", 3); /* lea rax, [rdi + state_frame] */
        emit_u32(e, module->layout.state_frame);
        return;
    }
    if (!python_word_is_known(module)) {
        emit_jump(e, slow);
        return;
    }
    emit_bytes(e, "\x48\x8d\x84\x24", 4); /* lea rax, [rsp + 8 - word_depth] */
    emit_u32(e, 8 - (uint32_t)module->word_depth);
}

/* Into the new entry at rdx, and into the one after it if the frame comes with the call. */
static void store_new(struct emitter *e, unsigned reg, int offset, bool brings)
{
    op_far(e, OP_STORE, reg, RDX, offset);
    if (brings)
        op_far(e, OP_STORE, reg, RDX, offset + ENTRY_BYTES);
}

/* A base at rdx, one past the newest entry; not on the list yet. */
static void emit_base(struct emitter *e, const struct python_module *module, bool brings)
{
    emit_depth(e);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(depth));
    jump_if(e, IF_NOT_ABOVE, slow);
    store_new(e, RAX, OWN(depth), brings);
    op_far(e, OP_LOAD, RAX, RDI, module->layout.state_frame);
    if (module->layout.has_c_frame)
        op_far(e, OP_LOAD, RAX, RAX, module->layout.c_frame_frame);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(frame));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_far(e, OP_STORE, RAX, RDX, OWN(frame));
    if (!brings)
        emit_store(e, FIELD(hot.python_frame), RAX);
    emit_word(e, module);
    store_new(e, RAX, OWN(word), brings);
    emit_store(e, FIELD(hot.python_word), RAX);
    store_new(e, RDI, OWN(state), brings);
    emit_store(e, FIELD(hot.python_state), RDI);
    emit_load_current(e, RAX);
    op_far(e, OP_STORE, RAX, RDX, OWN(context));
    set_constant(e, RDX, OWN(base), 1);
    if (has_lines())
        set_constant(e, RDX, OWN(place.lines), 0);
}

/* The base alone. */
static void emit_enter(struct emitter *e, const struct python_module *module)
{
    if (has_lines())
        emit_foresee_call(e, &module->layout);
    emit_same_module(e, module);
    emit_room(e, slow);
    emit_base(e, module, false);
    emit_prefetch(e, RAX,
                  offsetof(struct context, slots[2])); /* a frame will be looked for there */
    emit_set_top(e, 1);
    if (has_lines())
        emit_no_line(e);
    else
        emit_done(e);
}

/* Back to the frame before the newest one: rax, as thread.target, is it, rdx one past the newest. */
static void emit_frame_back(struct emitter *e, const struct python_layout *layout)
{
    emit_store(e, FIELD(hot.python_frame), RAX);
    emit_set_top(e, -1);
    emit_load_current(e, RCX);
    if (has_lines())
        vectors_emit_settle_line(e, RCX);
    vectors_emit_settle(e, RCX, false);
    op_far(e, OP_LOAD, RAX, RDX, BEFORE(context));
    emit_store_current(e, RAX, RCX);
    if (!has_lines()) {
        emit_done(e);
        return;
    }
    op_memory(e, OP_LOAD, RAX, RAX, CONTEXT(counters));
    emit_store(e, FIELD(counters), RAX);
    emit_line_watch(e, layout, -2 * ENTRY_BYTES);
}

/* The new entry at rdx has the lines of the code in rcx, whose slot is in rax. Loses rcx. */
static void emit_code_lines(struct emitter *e, const struct python_layout *layout)
{
    emit_set_first(e, layout);
    op_memory(e, OP_LOAD, RCX, RAX, offsetof(struct python_code_slot, lines));
    op_register(e, OP_TEST, RCX, RCX);
    jump_if(e, IF_EQUAL, slow);
    op_far(e, OP_STORE, RCX, RDX, OWN(place.lines));
}

/* The frame in rax is no shim. */
static void emit_refuse_shim(struct emitter *e, const struct python_layout *layout)
{
    if (!layout->frame_owner)
        return;
    compare_byte(e, RAX, layout->frame_owner, layout->shim_owner);
    jump_if(e, IF_NOT_BELOW, slow);
}

/* rax = the slot of the code that the frame in rcx runs, if the thread knows it. */
static void emit_code(struct emitter *e, const struct python_layout *layout)
{
    emit_frame_code(e, layout);
    emit_code_slot(e);
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct python_code_slot, code));
    jump_if(e, IF_NOT_EQUAL, slow);
}

/* rcx = the function whose code's slot is in rax; rax = the slot for it beside the context of the newest
 * entry, rdx one past it. A jump to be ended, if that slot has another's. */
static uint8_t *emit_slot_beside(struct emitter *e)
{
    op_memory(e, OP_LOAD, RCX, RAX, offsetof(struct python_code_slot, function));
    op_memory32(e, OP_LOAD, RAX, RAX, offsetof(struct python_code_slot, beside));
    op_far(e, OP_ADD, RAX, RDX, NEWEST(context));
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct context_slot, site));
    return jump_far_ahead(e, IF_NOT_EQUAL);
}

/* rax = the child for the function in rcx of the context of the newest entry, rdx one past it, which is
 * lost: in the table of children. */
static void emit_child_in_table(struct emitter *e)
{
    op_far(e, OP_LOAD, RDX, RDX, NEWEST(context));
    emit_child_slot(e, RDX, PYTHON_SITE);
    emit_bytes(e, "\x8d\x04\x48", 3); /* lea eax, [rax + rcx * 2] */
    emit_child_address(e);
    op_memory(e, OP_COMPARE, RCX, RAX, SLOT(target));
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_constant(e, RCX, PYTHON_SITE);
    op_memory(e, OP_ADD, RCX, RDX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RCX, RAX, SLOT(key));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_memory(e, OP_LOAD, RAX, RAX, SLOT(child));
}

/* What ran is for the context of the newest entry, rdx one past it; one more call of what the frame that
 * comes next runs in, which is counted with what runs there. Loses rcx. */
static void emit_count_call(struct emitter *e, const struct python_layout *layout, bool brings)
{
    emit_next_frame(e, RCX, brings);
    uint8_t *made = jump_if_made(e, layout);
    op_far(e, OP_LOAD, RCX, RDX, NEWEST(context));
    vectors_emit_settle(e, RCX, true);
    if (!made)
        return;
    emit_bytes(e, "\xeb\x00", 2); /* jmp over the rest */
    uint8_t *counted = e->out;
    end_short_jump(e, made);
    op_far(e, OP_LOAD, RCX, RDX, NEWEST(context));
    vectors_emit_settle(e, RCX, false);
    end_short_jump(e, counted);
}

/* The same for lines, which have contexts of their own: that of the newest one is in rdx, that of the
 * function in rax. */
static void emit_count_line_call(struct emitter *e, const struct python_layout *layout)
{
    vectors_emit_settle_line(e, RDX);
    emit_load(e, RCX, FIELD(target));
    uint8_t *made = jump_if_made(e, layout);
    emit_increment(e, RAX, CONTEXT(calls));
    if (made)
        end_short_jump(e, made);
}

/* The entry at rdx is of the same activation of the evaluator as the one before it. Not two words at a
 * time: those of a base are stored one by one, shortly before. Loses rax. */
static void emit_same_activation(struct emitter *e)
{
    move(e, RDX, NEWEST(depth), RDX, OWN(depth));
    move(e, RDX, NEWEST(state), RDX, OWN(state));
    move(e, RDX, NEWEST(word), RDX, OWN(word));
}

/* The newest frame, rdx one past it, has called the one in thread.target, which runs in the context
 * in rax. `brings`: it comes with its base, which is at rdx - ENTRY_BYTES and not on the list yet. */
static void emit_frame_push(struct emitter *e, const struct python_layout *layout, bool brings)
{
    op_far(e, OP_STORE, RAX, RDX, OWN(context));
    emit_store_current(e, RAX, RCX);
    emit_next_frame(e, RAX, brings);
    op_far(e, OP_STORE, RAX, RDX, OWN(frame));
    emit_store(e, FIELD(hot.python_frame), RAX);
    if (has_lines()) {
        op_far(e, OP_LEA, RAX, RAX, layout->frame_ip);
        emit_store(e, FIELD(hot.python_ip), RAX);
    }
    if (!brings)
        emit_same_activation(e);
    set_constant(e, RDX, OWN(base), 0);
    emit_set_top(e, 1);
    emit_done(e);
}

/* rax = the context of the function that the frame in thread.target runs, and rdx that of the newest
 * one, which calls it; thread.python_entry = one past the newest, which rdx was. That is at the line where
 * the frame begins, whose context is in thread.python_line_context, and thread.counters are where that
 * counts. */
static void emit_line_called(struct emitter *e, const struct python_layout *layout)
{
    emit_store(e, FIELD(python_entry), RDX);
    emit_load(e, RCX, FIELD(target));
    emit_code(e, layout);
    emit_code_lines(e, layout);
    uint8_t *elsewhere = emit_slot_beside(e);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct context_slot, child));
    uint8_t *found = jump_always_ahead(e);
    end_far_jump(e, elsewhere);
    emit_child_in_table(e);
    end_far_jump(e, found);
    emit_store(e, FIELD(python_called), RAX);
    emit_load(e, RDX, FIELD(python_entry));
    emit_line_first(e, layout, slow);
    emit_load(e, RAX, FIELD(python_called));
    op_memory(e, OP_LOAD, RCX, RAX, CONTEXT(counters));
    emit_store(e, FIELD(counters), RCX);
    op_far(e, OP_LOAD, RDX, RDX, NEWEST(context));
}

/* As emit_frame_called, at function detail. */
static void emit_function_called(struct emitter *e, const struct python_layout *layout, bool brings)
{
    emit_next_frame(e, RCX, brings);
    emit_code(e, layout);
    uint8_t *elsewhere = emit_slot_beside(e);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct context_slot, child));
    uint64_t found = e->address;
    emit_count_call(e, layout, brings);
    emit_frame_push(e, layout, brings);

    end_far_jump(e, elsewhere);
    emit_child_in_table(e);
    emit_load(e, RDX, FIELD(hot.python_top));
    if (brings)
        op_far(e, OP_LEA, RDX, RDX, ENTRY_BYTES);
    emit_jump(e, found);
}

/* As emit_frame_push, in the context that it is found to run in. */
static void emit_frame_called(struct emitter *e, const struct python_layout *layout, bool brings)
{
    struct jumps unknown = {0};
    if (!has_lines()) {
        emit_function_called(e, layout, brings);
        return;
    }
    emit_known_call(e, layout, brings, &unknown);
    emit_frame_push(e, layout, brings);
    jumps_end(e, &unknown);
    if (brings)
        emit_store(e, FIELD(target), RSI);
    emit_line_called(e, layout);
    emit_count_line_call(e, layout);
    emit_load(e, RAX, FIELD(python_line_context));
    emit_load(e, RDX, FIELD(python_entry));
    emit_frame_push(e, layout, brings);
}

/* The base, and above it the frame in rsi. */
static void emit_enter_with_frame(struct emitter *e, const struct python_module *module)
{
    if (has_lines())
        emit_foresee_call(e, &module->layout);
    emit_same_module(e, module);
    emit_load(e, RDX, FIELD(hot.python_top));
    op_far(e, OP_LEA, RAX, RDX, ENTRY_BYTES);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.python_limit));
    jump_if(e, IF_NOT_BELOW, slow);
    emit_base(e, module, true);
    op_far(e, OP_LEA, RDX, RDX, ENTRY_BYTES);
    emit_frame_called(e, &module->layout, true);
}

/* The frame in rcx is not the newest one, rdx one past it; but it may be the shim that stands between
 * that and what it has called (from 3.12 on). Then it is pushed, with the same context. */
static void emit_shim_push(struct emitter *e, const struct python_layout *layout)
{
    compare_byte(e, RCX, layout->frame_owner, layout->shim_owner);
    jump_if(e, IF_BELOW, slow);
    op_far(e, OP_LOAD, RAX, RCX, layout->frame_previous);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(frame));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_far(e, OP_LEA, RAX, RDX, ENTRY_BYTES);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.python_limit));
    jump_if(e, IF_EQUAL, slow);
    op_far(e, OP_STORE, RCX, RDX, OWN(frame));
    move(e, RDX, NEWEST(context), RDX, OWN(context));
    emit_same_activation(e);
    set_constant(e, RDX, OWN(base), 0);
    if (has_lines())
        set_constant(e, RDX, OWN(place.lines), 0);
    emit_set_top(e, 1);
    op_far(e, OP_LEA, RDX, RDX, ENTRY_BYTES);
}

static void emit_frame(struct emitter *e, const struct python_module *module)
{
    const struct python_layout *layout = &module->layout;
    emit_room(e, slow);
    emit_depth(e);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(depth));
    jump_if(e, IF_NOT_EQUAL, slow);
    compare_byte(e, RDX, NEWEST(base), 0);
    uint8_t *is_base = jump_far_ahead(e, IF_NOT_EQUAL);
    emit_load(e, RAX, FIELD(target));
    op_far(e, OP_COMPARE, RAX, RDX, BEFORE(frame));
    uint8_t *is_called = jump_far_ahead(e, IF_NOT_EQUAL);
    if (layout->frame_is_entry && !python_word_is_known(module)) {
        compare_byte(e, RDX, BEFORE(base), 0); /* the core knows better */
        jump_if(e, IF_NOT_EQUAL, slow);
    }
    emit_frame_back(e, layout);

    end_far_jump(e, is_base);
    end_far_jump(e, is_called);
    emit_load_current(e, RCX);
    op_far(e, OP_COMPARE, RCX, RDX, NEWEST(context));
    jump_if(e, IF_NOT_EQUAL, slow);
    compare_zero(e, RDX, NEWEST(word)); /* not known yet */
    jump_if(e, IF_EQUAL, slow);
    emit_load(e, RAX, FIELD(target));
    op_far(e, OP_LOAD, RCX, RAX, layout->frame_previous);
    op_far(e, OP_COMPARE, RCX, RDX, NEWEST(frame));
    if (layout->frame_owner && !layout->frame_is_entry) {
        uint8_t *called = jump_far_ahead(e, IF_EQUAL);
        emit_shim_push(e, layout);
        end_far_jump(e, called);
        emit_load(e, RAX, FIELD(target));
    } else {
        jump_if(e, IF_NOT_EQUAL, slow);
    }
    emit_refuse_shim(e, layout);
    emit_frame_called(e, layout, false);
}

/* The entry at rdx + `newest` is the newest one now. */
static void emit_left(struct emitter *e, const struct python_layout *layout, int entry)
{
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(word));
    emit_store(e, FIELD(hot.python_word), RAX);
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(frame));
    emit_store(e, FIELD(hot.python_frame), RAX);
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(state));
    emit_store(e, FIELD(hot.python_state), RAX);
    if (!has_lines()) {
        emit_done(e);
        return;
    }
    emit_load(e, RAX, FIELD(hot.current));
    vectors_emit_settle_line(e, RAX);
    emit_line_watch(e, layout, entry);
}

/* An activation has its base, and the frame that it was called for unless that is over. */
static void emit_leave(struct emitter *e, const struct python_layout *layout)
{
    emit_load(e, RDX, FIELD(hot.python_top));
    emit_depth(e);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(depth));
    jump_if(e, IF_NOT_EQUAL, slow);
    compare_byte(e, RDX, NEWEST(base), 0);
    uint8_t *base_alone = jump_far_ahead(e, IF_NOT_EQUAL);
    compare_byte(e, RDX, BEFORE(base), 0);
    jump_if(e, IF_EQUAL, slow);
    op_far(e, OP_COMPARE, RAX, RDX, BEFORE2(depth));
    jump_if(e, IF_NOT_ABOVE, slow);
    compare_zero(e, RDX, BEFORE2(word));
    jump_if(e, IF_EQUAL, slow);
    emit_set_top(e, -2);
    emit_left(e, layout, -3 * ENTRY_BYTES);

    end_far_jump(e, base_alone);
    op_far(e, OP_COMPARE, RAX, RDX, BEFORE(depth));
    jump_if(e, IF_NOT_ABOVE, slow);
    compare_zero(e, RDX, BEFORE(word));
    jump_if(e, IF_EQUAL, slow);
    emit_set_top(e, -1);
    emit_left(e, layout, -2 * ENTRY_BYTES);
}

/* ---- what is shared ---- */

static struct shared *shared_for(struct python_module *module)
{
    const bool knows_word = python_word_is_known(module), brings = python_brings_frame(module);
    for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
        if (shared[i].module == module && shared[i].generation == cache.generation &&
            shared[i].knows_word == knows_word && shared[i].brings == brings)
            return &shared[i];
    struct shared *made = &shared[shared_next++ % (sizeof shared / sizeof *shared)];
    struct emitter cold = cold_begin();
    *made = (struct shared){.module = module,
                            .generation = cache.generation,
                            .knows_word = knows_word,
                            .brings = brings,
                            .start = cold.address};
    made->events[PYTHON_ENTER] = cold.address;
    if (made->brings)
        emit_enter_with_frame(&cold, module);
    else
        emit_enter(&cold, module);
    made->events[PYTHON_FRAME] = cold.address;
    emit_frame(&cold, module);
    made->events[PYTHON_LEAVE] = cold.address;
    emit_leave(&cold, &module->layout);
    made->events[PYTHON_LINE] = cold.address;
    if (has_lines())
        emit_line(&cold, &module->layout, slow);
    made->end = cold.address;
    cold_end(&cold);
    return made;
}

/* The tail-calling interpreter's frames run in two functions. */
uint64_t python_fast_code(struct python_module *module, enum python_event event)
{
    if (module->handlers)
        return slow;
    return shared_for(module)->events[event];
}

uint64_t python_slow_code(void)
{
    return slow;
}

/* Which exit it is stands before where the event's code goes on. Loses rax. */
static void emit_tell_exit(struct emitter *e)
{
    emit_load(e, RAX, FIELD(code));
    emit_bytes(e, "\x8b\x40\xfc", 3);     /* mov eax, [rax - 4] */
    emit_bytes(e, "\x65\x89\x04\x25", 4); /* mov gs:[exit_id], eax */
    emit_u32(e, THREAD_EXIT_ID);
}

void python_fast_init(void)
{
    struct emitter cold = cold_begin();
    enter = cold.address;
    store_thread_constant(&cold, FIELD(in_cache), 1);
    vectors_emit_load_own(&cold);
    jump_through_thread(&cold, FIELD(code));
    slow = cold.address;
    emit_tell_exit(&cold);
    emit_tell_current(&cold);
    vectors_emit_store_own(&cold);
    store_thread_constant(&cold, FIELD(in_cache), 0);
    jump_through_thread(&cold, FIELD(leave_inner));
    cold_end(&cold);
    memset(shared, 0, sizeof shared);
}

void python_fast_init_thread(struct native_thread *thread)
{
    thread->inner_entry = enter;
    thread->leave_inner = (uint64_t)thread_leave_inner;
    python_codes_init_thread(thread);
    python_calls_init_thread(thread);
    python_line_init_thread(thread);
}

bool python_fast_recover(struct sigcontext *context)
{
    for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
        if (context->rip >= shared[i].start && context->rip < shared[i].end) {
            context->rip = slow;
            return true;
        }
    return false;
}

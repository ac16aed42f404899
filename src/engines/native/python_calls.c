/* python_calls.c: see python_calls.h. */
#include "engines/native/python_calls.h"
#include "engines/native/arena.h"
#include "engines/native/python_codes.h"
#include "engines/native/python_pieces.h"

#define CALL(member) ((int8_t)offsetof(struct python_call_slot, member))
#define CALL_MASK    ((PYTHON_CALL_SLOTS - 1) * (uint32_t)sizeof(struct python_call_slot))

_Static_assert(sizeof(struct python_call_slot) == 64, "what the hash is shifted for");
_Static_assert(sizeof(struct context) == 128, "what their addresses are shifted for");

/* What a thread that has run no Python knows. */
static struct python_call_slot no_calls[PYTHON_CALL_SLOTS];

void python_calls_init_thread(struct native_thread *thread)
{
    if (!thread->python_calls)
        thread->python_calls = no_calls;
}

void python_calls_begin(struct native_thread *thread)
{
    if (thread->python_calls == no_calls)
        thread->python_calls = arena_allocate(sizeof no_calls);
}

/* They may be anywhere in the table. Most code that dies was called once, and is not there. */
void python_calls_forget(struct native_thread *thread, uint64_t code)
{
    for (unsigned i = 0; thread->python_calls != no_calls && i < PYTHON_CALL_SLOTS; i++)
        if (thread->python_calls[i].code == code)
            thread->python_calls[i].from = 0;
}

/* An instruction pointer that is an address lies in its code object, and says which that is. */
static bool knows_code(const struct python_layout *layout)
{
    return layout->ip_bytes == 8;
}

/* rax = the slot of the current context and the frame in rcx; rcx = its instruction pointer if that says
 * all, else its code. Neighbours in any of these have different slots. */
static void emit_slot(struct emitter *e, const struct python_layout *layout)
{
    if (knows_code(layout)) {
        emit_frame_pointer(e, layout);
        emit_load(e, RAX, FIELD(hot.current));
        emit_bytes(e, "\xc1\xe8\x06", 3); /* shr eax, 6 */
        op_register32(e, OP_ADD, RAX, RCX);
        emit_bytes(e, "\xc1\xe0\x05", 3); /* shl eax, 5: instructions are two bytes long */
    } else {
        emit_bytes(e, "\x8b\x81", 2); /* mov eax, [rcx + frame_ip] */
        emit_u32(e, layout->frame_ip);
        emit_bytes(e, "\xc1\xe0\x06", 3); /* shl eax, 6 */
        emit_frame_code(e, layout);
        emit_bytes(e, "\x8d\x04\x88", 3); /* lea eax, [rax + rcx * 4] */
        op_thread(e, OP_ADD, RAX, FIELD(hot.current));
    }
    op_constant32(e, 4, RAX, CALL_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(python_calls));
}

void emit_foresee_call(struct emitter *e, const struct python_layout *layout)
{
    emit_copy(e, RCX, RSI);
    emit_slot(e, layout);
    emit_prefetch(e, RAX, 0);
}

/* cmp dword [slot in rax], 0 */
static void compare_field(struct emitter *e, int8_t slot_offset)
{
    emit_bytes(e, "\x83\x78", 2);
    emit_byte(e, slot_offset);
    emit_byte(e, 0);
}

/* The entry at rdx has the place that the slot in rax says, as hot does; what is asked for when the
 * line changes is fetched. Loses rcx. */
static void emit_take_place(struct emitter *e)
{
    _Static_assert(CALL(steps) == CALL(lines) + 8 && OWN(place.steps) == OWN(place.lines) + 8,
                   "a pair");
    _Static_assert(CALL(line_end) == CALL(line) + 8 && OWN(place.line_end) == OWN(place.line) + 8,
                   "a pair");
    op_memory(e, OP_LOAD, RCX, RAX, CALL(steps));
    emit_prefetch(e, RCX, 0);
    vectors_emit_load_pair(e, RAX, CALL(lines));
    vectors_emit_store_pair(e, RDX, OWN(place.lines));
    vectors_emit_load_pair(e, RAX, CALL(line));
    vectors_emit_store_pair(e, RDX, OWN(place.line));
    vectors_emit_tell_pair(e, FIELD(hot.python_line));
}

/* One more call of the function that the slot in rax is for; its counters are the thread's. Loses
 * rcx. */
static void emit_take_call(struct emitter *e)
{
    op_memory32(e, OP_LOAD, RCX, RAX, CALL(called));
    compare_field(e, CALL(counts));
    uint8_t *made = jump_ahead(e, IF_EQUAL);
    emit_increment(e, RCX, CONTEXT(calls));
    end_short_jump(e, made);
    op_memory(e, OP_LOAD, RCX, RCX, CONTEXT(counters));
    emit_store(e, FIELD(counters), RCX);
}

void emit_known_call(struct emitter *e, const struct python_layout *layout, bool brings,
                     struct jumps *elsewhere)
{
    emit_next_frame(e, RCX, brings);
    emit_slot(e, layout);
    if (!knows_code(layout)) {
        op_memory(e, OP_COMPARE, RCX, RAX, CALL(code));
        jumps_add(elsewhere, jump_far_ahead(e, IF_NOT_EQUAL));
        emit_next_frame(e, RCX, brings);
        emit_frame_pointer(e, layout);
    }
    op_memory(e, OP_COMPARE, RCX, RAX, CALL(pointer));
    jumps_add(elsewhere, jump_far_ahead(e, IF_NOT_EQUAL));
    op_memory32(e, OP_LOAD, RCX, RAX, CALL(from));
    op_thread(e, OP_COMPARE, RCX, FIELD(hot.current));
    jumps_add(elsewhere, jump_far_ahead(e, IF_NOT_EQUAL));
    op_memory(e, OP_LOAD, RCX, RAX, CALL(code));
    emit_set_first(e, layout);
    emit_take_place(e);
    emit_load(e, RCX, FIELD(hot.current));
    vectors_emit_settle_line(e, RCX);
    emit_take_call(e);
    op_memory32(e, OP_LOAD, RAX, RAX, CALL(line_context));
    emit_prefetch(e, RAX, 0);
}

/* The slot of the code in rcx says for good that there was such a call. Loses rax. */
static void emit_mark_code(struct emitter *e)
{
    emit_code_slot(e);
    emit_bytes(e, "\xc7\x40", 2); /* mov dword [rax + was_called], 1 */
    emit_byte(e, offsetof(struct python_code_slot, was_called));
    emit_u32(e, 1);
}

static void remember_field(struct emitter *e, int entry_offset, int8_t slot_offset)
{
    op_far(e, OP_LOAD, RCX, RDX, entry_offset);
    op_memory(e, OP_STORE, RCX, RAX, slot_offset);
}

static void set_counts(struct emitter *e, uint32_t counts)
{
    emit_bytes(e, "\xc7\x40", 2); /* mov dword [rax + counts], counts */
    emit_byte(e, CALL(counts));
    emit_u32(e, counts);
}

static void remember_counts(struct emitter *e, const struct python_layout *layout)
{
    set_counts(e, 0);
    emit_load(e, RCX, FIELD(target));
    uint8_t *made = jump_if_made(e, layout);
    set_counts(e, 1);
    if (made)
        end_short_jump(e, made);
}

/* The function's context is older than that of its line, so that four bytes name it too; the caller's
 * need not be. */
void emit_remember_call(struct emitter *e, const struct python_layout *layout)
{
    emit_load(e, RCX, FIELD(hot.current));
    op_register32(e, OP_LOAD, RAX, RCX);
    op_register(e, OP_COMPARE, RAX, RCX);
    uint8_t *too_far = jump_far_ahead(e, IF_NOT_EQUAL);
    emit_load(e, RCX, FIELD(target));
    emit_frame_code(e, layout);
    emit_mark_code(e);
    emit_load(e, RCX, FIELD(target));
    emit_slot(e, layout);
    emit_load(e, RCX, FIELD(target));
    emit_frame_code(e, layout);
    op_memory(e, OP_STORE, RCX, RAX, CALL(code));
    emit_load(e, RCX, FIELD(hot.current));
    op_memory32(e, OP_STORE, RCX, RAX, CALL(from));
    emit_load(e, RCX, FIELD(target));
    emit_frame_pointer(e, layout);
    op_memory(e, OP_STORE, RCX, RAX, CALL(pointer));
    remember_field(e, OWN(place.lines), CALL(lines));
    remember_field(e, OWN(place.steps), CALL(steps));
    remember_field(e, OWN(place.line), CALL(line));
    remember_field(e, OWN(place.line_end), CALL(line_end));
    emit_load(e, RCX, FIELD(python_called));
    op_memory32(e, OP_STORE, RCX, RAX, CALL(called));
    remember_counts(e, layout);
    emit_load(e, RCX, FIELD(python_line_context));
    op_memory32(e, OP_STORE, RCX, RAX, CALL(line_context));
    end_far_jump(e, too_far);
}

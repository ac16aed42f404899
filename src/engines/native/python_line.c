/* python_line.c: see python_line.h. */
#include "engines/native/python_line.h"
#include "engines/native/arena.h"
#include "engines/native/python_calls.h"
#include "engines/native/python_counts.h"
#include "engines/native/python_pieces.h"
#include "engines/native/record.h"

#define LINE_SLOT(member) ((int8_t)offsetof(struct python_line_slot, member))
#define LINE_MASK         ((PYTHON_LINE_SLOTS - 1) * (uint32_t)sizeof(struct python_line_slot))
#define SPREAD            0x9e3779b1u /* contexts that follow each other are far apart */

#define CONTEXT_SHIFT 7 /* their size */
#define STEPS(member) ((int8_t)offsetof(struct context, slots[0].member))
#define LINES(member) ((int8_t)offsetof(struct python_lines, member))

_Static_assert(sizeof(struct python_line_slot) == 32, "what the hash is shifted for");
_Static_assert(sizeof(struct context) == 1 << CONTEXT_SHIFT, "contexts are one after the other");
_Static_assert(sizeof(struct python_line_bounds) == 1 << 4, "found by their numbers");
_Static_assert(OWN(place.line_end) == OWN(place.line) + 8, "a pair");
_Static_assert(offsetof(struct hot, python_line_end) == offsetof(struct hot, python_line) + 8,
               "a pair");

/* What a thread that has run no Python knows. */
static struct python_line_slot no_lines[PYTHON_LINE_SLOTS];

void python_line_init_thread(struct native_thread *thread)
{
    if (!thread->python_lines)
        thread->python_lines = no_lines;
}

/* Instructions are two bytes long: neighbours shall have different slots. */
static unsigned hash_shift(const struct python_layout *layout)
{
    return layout->ip_unit == 2 ? 5 : 4;
}

static struct python_line_slot *line_slot(const struct native_thread *thread,
                                          const struct python_layout *layout,
                                          const struct context *from, uint64_t pointer)
{
    uint32_t place = (uint32_t)(uintptr_t)from >> CONTEXT_SHIFT;
    uint32_t hash = (place * SPREAD + (uint32_t)pointer) << hash_shift(layout);
    return (struct python_line_slot *)((uint8_t *)thread->python_lines + (hash & LINE_MASK));
}

/* What stands for the context of a line in a range that has none: its instructions go on with the line
 * before them. */
#define SAME_LINE 1

/* By the numbers of the ranges in `lines`, the steps to the lines of a function's context: 0: not known
 * yet. NULL: those that it has are another line table's. */
static uint32_t *steps_of(struct context *function, const struct python_lines *lines)
{
    struct context_slot *slot = &function->slots[0];
    if (!lines->range_of_count || !python_counts_apply(function->code))
        return NULL;
    if (!slot->site)
        *slot = (struct context_slot){(uint64_t)lines,
                                      arena_allocate(lines->range_count * sizeof(uint32_t))};
    return slot->site == (uint64_t)lines ? (uint32_t *)slot->child : NULL;
}

void python_remember_line(struct native_thread *thread, struct context *from,
                          struct python_entry *entry)
{
    const struct python_layout *layout = &core.python.module->layout;
    struct python_place place = entry->place;
    uint64_t pointer = python_instruction_pointer(layout, entry->frame);
    struct context *context = python_take_line(&core, from, &place, pointer);
    uint64_t offset = pointer - place.first;
    bool fits = layout->ip_bytes == 4 || (uint64_t)(int32_t)offset == offset;
    if (!fits || place.line_end - place.line > UINT32_MAX)
        return;
    if (thread->python_lines == no_lines)
        thread->python_lines = arena_allocate(sizeof no_lines);
    *line_slot(thread, layout, from, offset) = (struct python_line_slot){
        .from = from,
        .context = context,
        .lines = (uintptr_t)place.lines >> PYTHON_LINES_SHIFT,
        .pointer = offset,
        .line = place.line - place.first,
        .line_size = place.line_end - place.line,
    };
    if (!(context->function->flags & CODE_FUNCTION_LINE))
        return;
    uint32_t *steps = steps_of(context->parent, place.lines);
    const struct python_line_range *range =
        python_lines_find(place.lines, offset * layout->ip_unit);
    entry->place.steps = steps;
    if (steps && range && (uintptr_t)context <= UINT32_MAX)
        steps[range - place.lines->ranges] = range->line ? (uintptr_t)context : SAME_LINE;
}

/* ---- what is emitted ---- */

void emit_line_pointer(struct emitter *e, const struct python_layout *layout, int offset)
{
    if (layout->ip_bytes == 8) {
        op_far(e, OP_LOAD, RAX, RDX, layout->frame_ip + offset);
        return;
    }
    emit_bytes(e, "\x8b\x82", 2); /* mov eax, [rdx + frame_ip] */
    emit_u32(e, layout->frame_ip + offset);
}

/* reg = the pointer at [base + offset] in a slot */
static void load_short_pointer(struct emitter *e, const struct python_layout *layout, unsigned reg,
                               unsigned base, int8_t offset)
{
    if (layout->ip_bytes == 4)
        op_memory32(e, OP_LOAD, reg, base, offset);
    else
        op_memory(e, 0x63, reg, base, offset); /* movsxd */
}

/* rdx = the slot of the context in rcx and the pointer in eax. */
static void emit_slot(struct emitter *e, const struct python_layout *layout)
{
    op_register32(e, OP_LOAD, RDX, RCX);
    emit_bytes(e, "\xc1\xea", 2); /* shr edx, CONTEXT_SHIFT */
    emit_byte(e, CONTEXT_SHIFT);
    emit_bytes(e, "\x69\xd2", 2); /* imul edx, edx, SPREAD */
    emit_u32(e, SPREAD);
    op_register32(e, OP_ADD, RDX, RAX);
    emit_bytes(e, "\xc1\xe2", 2); /* shl edx, shift */
    emit_byte(e, hash_shift(layout));
    op_constant32(e, 4, RDX, LINE_MASK);
    op_thread(e, OP_ADD, RDX, FIELD(python_lines));
}

/* The line of the entry at `base` + `entry` begins at rax, from the code's first instruction on. */
static void emit_set_line(struct emitter *e, unsigned base, int entry)
{
    op_far(e, OP_ADD, RAX, base, entry + OWN(place.first));
    op_far(e, OP_STORE, RAX, base, entry + OWN(place.line));
    emit_store(e, FIELD(hot.python_line), RAX);
}

/* And is as long as rax says. */
static void emit_set_size(struct emitter *e, unsigned base, int entry)
{
    op_far(e, OP_ADD, RAX, base, entry + OWN(place.line));
    op_far(e, OP_STORE, RAX, base, entry + OWN(place.line_end));
    emit_store(e, FIELD(hot.python_line_end), RAX);
}

/* The slot at rdx is of the context in rcx, its pointer that in rax: the entry in
 * thread.python_entry takes its line. As emit_line_step. */
static void emit_take_step(struct emitter *e, const struct python_layout *layout, int entry,
                           uint64_t slow)
{
    emit_load(e, RCX, FIELD(python_entry));
    op_far(e, OP_LOAD, RAX, RCX, entry + OWN(place.lines));
    emit_bytes(e, "\x48\xc1\xe8", 3); /* shr rax, PYTHON_LINES_SHIFT */
    emit_byte(e, PYTHON_LINES_SHIFT);
    op_memory32(e, OP_COMPARE, RAX, RDX, LINE_SLOT(lines));
    jump_if(e, IF_NOT_EQUAL, slow);
    load_short_pointer(e, layout, RAX, RDX, LINE_SLOT(line));
    emit_set_line(e, RCX, entry);
    op_memory32(e, OP_LOAD, RAX, RDX, LINE_SLOT(line_size));
    emit_set_size(e, RCX, entry);
    op_memory(e, OP_LOAD, RAX, RDX, LINE_SLOT(context));
}

/* The slot that is in the table. */
static void emit_find_step(struct emitter *e, const struct python_layout *layout, uint64_t slow)
{
    emit_slot(e, layout);
    op_memory(e, OP_COMPARE, RCX, RDX, LINE_SLOT(from));
    jump_if(e, IF_NOT_EQUAL, slow);
    load_short_pointer(e, layout, RCX, RDX, LINE_SLOT(pointer));
    op_register(e, OP_COMPARE, RAX, RCX);
    jump_if(e, IF_NOT_EQUAL, slow);
}

void emit_line_step(struct emitter *e, const struct python_layout *layout, int entry, uint64_t slow)
{
    op_far(e, OP_SUB, RAX, RDX, entry + OWN(place.first));
    emit_store(e, FIELD(python_entry), RDX);
    emit_find_step(e, layout, slow);
    emit_take_step(e, layout, entry, slow);
}

/* The entry at rdx + `entry` is in the range with the number in rcx, which is lost, as is rax. */
static void emit_take_range(struct emitter *e, int entry)
{
    emit_bytes(e, "\xc1\xe1\x04", 3); /* shl ecx, 4 */
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(place.lines));
    op_memory(e, OP_ADD, RCX, RAX, LINES(bounds));
    vectors_emit_load_twice(e, RDX, entry + OWN(place.first));
    vectors_emit_add_pair(e, RCX);
    vectors_emit_store_pair(e, RDX, entry + OWN(place.line));
    vectors_emit_tell_pair(e, FIELD(hot.python_line));
}

/* The same by the function's steps, the instruction pointer in rcx: rdx stays, rax and rcx are lost.
 * The line's context is the entry's and the current one then; if it is a new entry, in
 * thread.python_line_context. Not there: on to `elsewhere`, with nothing changed. */
static void emit_function_step(struct emitter *e, const struct python_layout *layout, int entry,
                               bool is_new, struct jumps *elsewhere)
{
    op_far(e, OP_SUB, RCX, RDX, entry + OWN(place.first));
    if (layout->ip_unit == 2) {
        emit_bytes(e, "\xff\xc1", 2); /* inc ecx: before the first one is -1 */
    } else {
        bool wide = layout->ip_bytes == 8;
        emit_bytes(e, wide ? "\x48\x8d\x49\x02" : "\x90\x8d\x49\x02", 4); /* lea rcx, [rcx + 2] */
        emit_bytes(e, wide ? "\x48\xd1\xe9" : "\x90\xd1\xe9", 3);         /* shr rcx, 1 */
    }
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(place.lines));
    op_memory(e, OP_COMPARE, RCX, RAX, LINES(range_of_count));
    jumps_add(elsewhere, jump_far_ahead(e, IF_NOT_BELOW));
    emit_bytes(e, "\x0f\xb7\x4c\x48", 4); /* movzx ecx, word [rax + rcx * 2 + range_of] */
    emit_byte(e, LINES(range_of));
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(place.steps));
    emit_bytes(e, "\x8b\x04\x88", 3); /* mov eax, [rax + rcx * 4] */
    emit_bytes(e, "\x83\xf8", 2);     /* cmp eax, SAME_LINE */
    emit_byte(e, SAME_LINE);
    jumps_add(elsewhere, jump_far_ahead(e, is_new ? IF_NOT_ABOVE : IF_BELOW));
    if (is_new) {
        emit_store(e, FIELD(python_line_context), RAX);
    } else {
        uint8_t *another = jump_ahead(e, IF_NOT_EQUAL);
        op_far(e, OP_LOAD, RAX, RDX, entry + OWN(context));
        end_short_jump(e, another);
        op_far(e, OP_STORE, RAX, RDX, entry + OWN(context));
        emit_store(e, FIELD(hot.current), RAX);
    }
    emit_take_range(e, entry);
}

void emit_line_first(struct emitter *e, const struct python_layout *layout, uint64_t slow)
{
    struct jumps elsewhere = {0};
    op_far(e, OP_LOAD, RCX, RDX, OWN(place.lines));
    op_memory(e, OP_COMPARE, RCX, RAX, STEPS(site));
    uint8_t *others = jump_far_ahead(e, IF_NOT_EQUAL);
    op_memory(e, OP_LOAD, RAX, RAX, STEPS(child));
    op_far(e, OP_STORE, RAX, RDX, OWN(place.steps));
    emit_load(e, RCX, FIELD(target));
    emit_frame_pointer(e, layout);
    emit_function_step(e, layout, 0, true, &elsewhere);
    emit_remember_call(e, layout);
    uint8_t *found = jump_always_ahead(e);

    end_far_jump(e, others);
    set_constant(e, RDX, OWN(place.steps), 0);
    jumps_end(e, &elsewhere);
    emit_load(e, RDX, FIELD(target));
    emit_line_pointer(e, layout, 0);
    emit_load(e, RCX, FIELD(python_called));
    emit_load(e, RDX, FIELD(python_entry));
    emit_line_step(e, layout, 0, slow);
    emit_store(e, FIELD(python_line_context), RAX);
    op_register(e, OP_LOAD, RDX, RCX);
    end_far_jump(e, found);
}

void emit_no_line(struct emitter *e)
{
    emit_constant(e, RAX, (uint64_t)&core.python.nowhere);
    emit_store(e, FIELD(hot.python_ip), RAX);
    store_thread_constant(e, FIELD(hot.python_line), 0);
    store_thread_constant(e, FIELD(hot.python_line_end), -1);
    emit_done(e);
}

void emit_line_watch(struct emitter *e, const struct python_layout *layout, int entry)
{
    compare_zero(e, RDX, entry + OWN(place.lines));
    uint8_t *none = jump_ahead(e, IF_EQUAL);
    /* Asked for when the line changes: until then they are fetched. */
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(place.steps));
    emit_prefetch(e, RAX, 0);
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(frame));
    op_far(e, OP_LEA, RAX, RAX, layout->frame_ip);
    emit_store(e, FIELD(hot.python_ip), RAX);
    vectors_emit_load_pair(e, RDX, entry + OWN(place.line));
    vectors_emit_tell_pair(e, FIELD(hot.python_line));
    emit_done(e);
    end_short_jump(e, none);
    emit_no_line(e);
}

void emit_line_here(struct emitter *e, const struct python_layout *layout, unsigned frame,
                    unsigned pointer, struct jumps *elsewhere)
{
    if (pointer == RAX)
        emit_unspill(e, RAX);
    emit_copy(e, RCX, pointer);
    emit_load(e, RDX, FIELD(hot.python_top));
    op_far(e, OP_COMPARE, frame, RDX, NEWEST(frame));
    jumps_add(elsewhere, jump_far_ahead(e, IF_NOT_EQUAL));
    op_far(e, OP_LOAD, RAX, RDX, NEWEST(context));
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.current));
    jumps_add(elsewhere, jump_far_ahead(e, IF_NOT_EQUAL));
    vectors_emit_settle_line(e, RAX);
    compare_zero(e, RDX, NEWEST(place.steps));
    jumps_add(elsewhere, jump_far_ahead(e, IF_EQUAL));
    emit_function_step(e, layout, -ENTRY_BYTES, false, elsewhere);
}

void emit_line(struct emitter *e, const struct python_layout *layout, uint64_t slow)
{
    struct jumps elsewhere = {0};
    emit_load(e, RDX, FIELD(hot.python_top));
    op_far(e, OP_LOAD, RAX, RDX, NEWEST(context));
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.current));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_far(e, OP_LOAD, RCX, RDX, NEWEST(frame));
    op_thread(e, OP_COMPARE, RCX, FIELD(hot.python_frame));
    jump_if(e, IF_NOT_EQUAL, slow);
    vectors_emit_settle_line(e, RAX);
    compare_zero(e, RDX, NEWEST(place.steps));
    jumps_add(&elsewhere, jump_far_ahead(e, IF_EQUAL));
    emit_frame_pointer(e, layout);
    emit_function_step(e, layout, -ENTRY_BYTES, false, &elsewhere);
    emit_done(e);

    jumps_end(e, &elsewhere);
    compare_zero(e, RDX, NEWEST(place.lines));
    jump_if(e, IF_EQUAL, slow);
    emit_store(e, FIELD(python_entry), RDX);
    op_far(e, OP_LOAD, RDX, RDX, NEWEST(frame));
    emit_line_pointer(e, layout, 0);
    emit_load(e, RDX, FIELD(python_entry));
    op_far(e, OP_LOAD, RCX, RDX, NEWEST(context));
    emit_line_step(e, layout, -ENTRY_BYTES, slow);
    op_far(e, OP_STORE, RAX, RCX, NEWEST(context));
    emit_store(e, FIELD(hot.current), RAX);
    emit_done(e);
}

/* python_watch.c: see python_watch.h. */
#include "engines/native/python_watch.h"
#include "core/python.h"
#include "engines/native/assemble.h"
#include "engines/native/python_again.h"
#include "engines/native/python_codes.h"
#include "engines/native/python_fast.h"
#include "engines/native/python_line.h"
#include "engines/native/python_pieces.h"
#include "engines/native/python_stores.h"
#include "engines/native/record.h"
#include "engines/native/threads.h"
#include "engines/x86_64/python_prologue.h"

struct python_module *python_watched(const struct code_place *place)
{
    struct python_module *python = options.python ? python_at(place) : NULL;
    if (!python || python_prepare(python))
        return python;
    python_refuse(python);
    return NULL;
}

/* mov rax, [rax + offset] */
static void load_from_rax(struct emitter *e, uint32_t offset)
{
    emit_bytes(e, "\x48\x8b\x80", 3);
    emit_u32(e, offset);
}

/* On to the event's code, and back here; which exit it is stands before that. */
static void emit_to_event(struct emitter *e, uint32_t id, uint64_t code)
{
    const unsigned store_bytes = 13, jump_bytes = 5, id_bytes = 4;
    store_thread_constant(e, FIELD(code), e->address + store_bytes + jump_bytes + id_bytes);
    emit_jump(e, code);
    emit_u32(e, id);
}

/* The same where rax is spilled, and the flags are saved if they are live. `uncounted` instructions
 * belong to what was before the event, and their block counts them later; fewer than none: has counted
 * them already. */
static void emit_event(struct emitter *e, uint32_t id, uint64_t code, int uncounted)
{
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    if (options.line_detail) /* runs are counted by now */
        uncounted = 0;
    vectors_emit_add(e, uncounted);
    emit_to_event(e, id, code);
    vectors_emit_add(e, -uncounted);
}

/* What is told wherever it stands. */
static void emit_told(struct translation *t, unsigned index, enum exit_kind kind, uint64_t code)
{
    struct emitter *e = &t->code;
    bool flags = !flags_dead(t, index);
    uint32_t id = new_exit(t, index, kind, t->pc + t->offsets[index]);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    emit_event(e, id, code, t->uncounted);
    restore(e, flags, ALL_THREE);
}

static bool begins_evaluator(const struct translation *t, unsigned index)
{
    return t->pc + t->offsets[index] == t->python->evaluator + t->python->module->bias;
}

/* Is the word where it is known to be? While the evaluator is being entered its C frame is not made
 * yet; but then it is not the thread state's either. Where the word is looked at only once it is
 * stored, it is there. */
static bool word_is_there(const struct translation *t)
{
    bool enters = t->python->layout.has_c_frame && begins_evaluator(t, 0);
    return python_word_is_known(t->python) && (!enters || python_brings_frame(t->python));
}

/* `after`: what is to be counted by then, or was, for what runs after it. */
static void emit_frame_look(struct translation *t, unsigned next, int after)
{
    struct emitter *e = &t->code;
    const struct python_layout *layout = &t->python->layout;
    bool flags = !flags_dead(t, next);
    uint32_t id = new_exit(t, next, EXIT_PYTHON_FRAME, t->pc + t->offsets[next]);
    uint64_t code = python_fast_code(t->python, PYTHON_FRAME);
    struct emitter cold = cold_begin();

    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    if (word_is_there(t)) {
        emit_load(e, RAX, FIELD(hot.python_word));
        load_from_rax(e, 0);
    } else {
        emit_load(e, RAX, FIELD(hot.python_state));
        load_from_rax(e, layout->state_frame);
        load_from_rax(e, layout->c_frame_frame);
    }
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.python_frame));
    jump_if(e, IF_NOT_EQUAL, cold.address);
    restore(e, flags, 1 << RAX);
    t->frame_stored = false;

    emit_store(&cold, FIELD(target), RAX);
    emit_event(&cold, id, code, (int)t->uncounted - after);
    restore(&cold, flags, ALL_THREE);
    emit_jump(&cold, e->address);
    cold_end(&cold);
}

/* Is what it stores in a register, all of it? */
static bool stores_register(const struct instruction *instruction, unsigned size_bytes)
{
    bool wide = instruction->rex & 8, narrow = instruction->prefixes & PREFIX_66;
    return instruction->encoding == ENCODING_LEGACY && instruction->map == 0 &&
           instruction->opcode == 0x89 && !narrow && (wide ? 8 : 4) == size_bytes;
}

/* rax, which is spilled, = the instruction pointer that instruction `index` has stored; if that is
 * another's than the frame's, the event will see. The flags were saved with rax, or not. */
static void load_stored(struct emitter *e, const struct translation *t, unsigned index, bool flags)
{
    const struct instruction *instruction = &t->instructions[index];
    unsigned size_bytes = t->python->layout.ip_bytes;
    if (!stores_register(instruction, size_bytes)) {
        emit_load(e, RAX, FIELD(hot.python_ip));
        if (size_bytes == 8)
            load_from_rax(e, 0);
        else
            emit_bytes(e, "\x8b\x00", 2); /* mov eax, [rax] */
        return;
    }
    unsigned reg = instruction_reg(instruction);
    if (reg == RAX && flags)
        emit_unspill(e, RAX);
    if (reg == RAX && size_bytes == 8)
        return;
    emit_byte(e, 0x40 | (size_bytes == 8 ? 8 : 0) | reg >> 3); /* mov rax, reg or eax, reg */
    emit_byte(e, OP_LOAD);
    emit_byte(e, 0xc0 | (reg & 7));
}

/* An address that is in a register now: compared as it is. */
static void emit_look_at_register(struct emitter *e, unsigned reg, uint64_t changed)
{
    op_thread(e, OP_COMPARE, reg, FIELD(hot.python_line));
    jump_if(e, IF_BELOW, changed);
    op_thread(e, OP_COMPARE, reg, FIELD(hot.python_line_end));
    jump_if(e, IF_NOT_BELOW, changed);
}

/* Any other way of storing one, or a number; rax is spilled. */
static void emit_look_at_stored(struct emitter *e, const struct translation *t, unsigned index,
                                bool flags, uint64_t changed)
{
    load_stored(e, t, index, flags);
    emit_look_at_register(e, RAX, changed);
}

static void emit_borrow_rax(struct emitter *e, bool flags)
{
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
}

/* With rax borrowed, as the evaluator's runs need no more. */
static void emit_count_borrowed(struct emitter *e, const struct line_count *count)
{
    if (!count->evaluated) {
        restore(e, count->flags, 1 << RAX);
        lines_emit(e, count);
        emit_borrow_rax(e, count->flags);
        return;
    }
    struct line_count bare = *count;
    bare.flags = false;
    bare.borrow = BORROW_FREE;
    lines_emit(e, &bare);
}

/* On to `there` if instruction `index` has stored to something else than the running frame: one that is
 * being made, or a thread state, which in 3.11 and 3.12 has another word at that offset. Loses the flags;
 * rax may be borrowed. */
static void emit_pass_others(struct emitter *e, const struct translation *t, unsigned index,
                             uint64_t there)
{
    unsigned base = python_frame_register(t, index);
    if (base == NO_FRAME_REGISTER || base == RAX)
        return; /* the event will see */
    op_thread(e, OP_COMPARE, base, FIELD(hot.python_frame));
    jump_if(e, IF_NOT_EQUAL, there);
}

/* Can the line be found where the program goes on? */
static bool finds_line_here(const struct translation *t, unsigned index)
{
    const struct instruction *store = &t->instructions[index];
    unsigned frame = python_frame_register(t, index);
    return t->python->layout.ip_bytes == 8 && stores_register(store, 8) && !t->python->handlers &&
           frame != NO_FRAME_REGISTER && frame > RDX;
}

/* The line that instruction `index` has changed to; rax is borrowed, as the others are then. If it is
 * not found here, on to `elsewhere`. */
static void emit_line_event(struct emitter *e, const struct translation *t, unsigned index,
                            uint32_t id, uint64_t code, struct jumps *elsewhere)
{
    if (!finds_line_here(t, index)) {
        emit_event(e, id, code, 0);
        return;
    }
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    emit_line_here(e, &t->python->layout, python_frame_register(t, index),
                   instruction_reg(&t->instructions[index]), elsewhere);
}

/* What ran until now is counted for the line that was, unless it has been, and what follows is a
 * block of its own. */
void python_emit_line_look(struct translation *t, unsigned next)
{
    struct emitter *e = &t->code;
    const struct instruction *store = &t->instructions[next - 1];
    bool flags = !flags_dead(t, next), counted = t->run >= next;
    bool in_register = t->python->layout.ip_bytes == 8 && stores_register(store, 8) && !flags;
    uint64_t target = t->pc + t->offsets[next];
    uint32_t id = new_exit(t, next, EXIT_PYTHON_LINE, target);
    uint64_t code = python_fast_code(t->python, PYTHON_LINE);
    struct jumps elsewhere = {0};
    struct line_count count = {0};
    uint32_t on = 0;
    if (!counted) {
        count = lines_plan(lines_run(t, t->run, next), t->function, flags,
                           new_exit(t, next, EXIT_COUNT, 0));
        on = new_exit(t, t->count, EXIT_JUMP, target);
    }
    struct emitter cold = cold_begin();

    add_mark(t, MARK_ENGINE, 0, 0, 0);
    if (in_register) {
        emit_look_at_register(e, instruction_reg(store), cold.address);
        emit_pass_others(&cold, t, next - 1, e->address);
        emit_spill(&cold, RAX);
    } else {
        emit_borrow_rax(e, flags);
        emit_look_at_stored(e, t, next - 1, flags, cold.address);
        emit_pass_others(&cold, t, next - 1, e->address);
        restore(e, flags, 1 << RAX);
    }

    if (!counted)
        emit_count_borrowed(&cold, &count);
    uint64_t event = cold.address;
    emit_line_event(&cold, t, next - 1, id, code, &elsewhere);
    uint64_t done = cold.address;
    restore(&cold, flags, ALL_THREE);
    if (counted) {
        emit_jump(&cold, e->address);
    } else {
        emit_align_patch(&cold, 1);
        emit_byte(&cold, 0xe9);
        emit_linkable(&cold, on);
    }
    if (elsewhere.count) {
        jumps_end(&cold, &elsewhere);
        emit_to_event(&cold, id, code);
        emit_jump(&cold, done);
    }
    if (!counted && count.evaluated) {
        cache.exits[count.exit_id].landing = cold.address;
        emit_borrow_rax(&cold, flags);
        emit_jump(&cold, event);
    }
    cold_end(&cold);
}

bool python_ends_code(const struct code_place *place, uint64_t pc)
{
    return options.python && place->module && place->module->python &&
           python_freer(place->module->python) == pc;
}

void python_emit_forget(struct translation *t)
{
    emit_told(t, 0, EXIT_PYTHON_FORGET, python_slow_code());
}

static bool is_call(const struct instruction *instruction)
{
    return instruction->class == CLASS_CALL || instruction->class == CLASS_CALL_INDIRECT;
}

void python_emit_start(struct translation *t, unsigned first)
{
    const struct instruction *before = first ? &t->instructions[first - 1] : NULL;
    if (begins_evaluator(t, first))
        emit_told(t, first, EXIT_PYTHON_ENTER, python_fast_code(t->python, PYTHON_ENTER));
    else if (!t->evaluates || (before && before->class == CLASS_ORDINARY))
        return; /* cut by a store, after which a frame may still be incomplete */
    else if (!python_word_is_known(t->python) || (before ? is_call(before) : !!t->python->handlers))
        emit_frame_look(t, first, 0);
}

void python_emit_before(struct translation *t, unsigned index, unsigned stub)
{
    if (t->frame_stored && t->instructions[index].class != CLASS_ORDINARY)
        emit_frame_look(t, index, stub);
    if (t->instructions[index].class == CLASS_RETURN)
        emit_told(t, index, EXIT_PYTHON_LEAVE, python_fast_code(t->python, PYTHON_LEAVE));
}

void python_emit_end(struct translation *t)
{
    bool called = t->count && is_call(&t->instructions[t->count - 1]);
    if (t->evaluates && t->end == END_CUT && (t->frame_stored || called))
        emit_frame_look(t, t->count, 0);
}

bool python_looks(const struct translation *t, unsigned first, unsigned end)
{
    if (!t->python || !t->evaluates)
        return false;
    bool looks = t->frame_stored || !python_word_is_known(t->python);
    for (unsigned i = first; i < end; i++)
        looks |= python_may_set_frame(t, i);
    return looks;
}

void python_note_jump(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    if (!t->evaluates || (instruction->class != CLASS_JUMP && instruction->class != CLASS_JUMP_IF))
        return;
    uint64_t target = branch_target(t, index);
    const struct code_function *to = code_map_find(&core.code, target).function;
    if (to && to != t->function)
        python_jumps_to(t->python, t->function, to, target);
}

void python_returned(struct native_thread *thread, const struct block *block)
{
    const struct python_module *python = block->function ? block->function->module->python : NULL;
    if (options.python && python && python_evaluates(python, block->function) &&
        thread->hot.python_word != (uintptr_t)&core.python.nowhere)
        python_look(&core, thread->thread);
}

/* Of the newest frame, unless it is not what runs. */
static void take_line(struct native_thread *thread)
{
    const struct python_frames *frames = &thread->thread->stack->python;
    python_count_frames(&core, thread->thread);
    struct python_entry *newest = frames->items + frames->count - 1;
    struct context *from = frames->count ? newest->context : NULL;
    python_line_changed(&core, thread->thread);
    if (from && newest->place.lines && newest->frame == thread->hot.python_frame)
        python_remember_line(thread, from, newest);
}

/* Blocks that were made before the word's place was known look for it more often than is needed. */
static void take_frame(struct native_thread *thread)
{
    bool known = core.python.module && python_word_is_known(core.python.module);
    python_frame_changed(&core, thread->thread, thread->target);
    python_remember(thread);
    if (!known && core.python.module && python_word_is_known(core.python.module))
        cache_remake_function(thread->hot.current->code);
}

static void take_enter(struct native_thread *thread)
{
    struct python_module *python = thread->hot.current->code->module->python;
    bool brings = python_brings_frame(python);
    thread->target = brings ? thread->registers[REGISTER_RSI] : 0;
    python_enter(&core, thread->thread, python, thread->registers[REGISTER_RDI], thread->target);
    if (brings)
        python_remember(thread);
}

void python_take_exit(struct native_thread *thread, const struct exit *exit)
{
    switch (exit->kind) {
    case EXIT_PYTHON_ENTER:
        record_settle(thread);
        take_enter(thread);
        break;
    case EXIT_PYTHON_FRAME:
        record_settle(thread);
        take_frame(thread);
        break;
    case EXIT_PYTHON_LEAVE:
        record_settle(thread);
        python_leave(&core, thread->thread);
        break;
    case EXIT_PYTHON_LINE:
        record_settle(thread);
        take_line(thread);
        break;
    default:
        threads_forget_code(thread->registers[REGISTER_RDI]);
        python_code_freed(&core.python, thread->registers[REGISTER_RDI]);
    }
    if (core.python.module && core.python.module->readiness == PYTHON_MISREAD)
        python_refuse(core.python.module);
}

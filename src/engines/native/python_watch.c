/* python_watch.c: see python_watch.h. */
#include "engines/native/python_watch.h"
#include "core/python.h"
#include "engines/native/assemble.h"
#include "engines/native/record.h"
#include "engines/native/text.h"

/* Says, once, that its frames cannot be shown; unless the program is started anew with
 * trampolines. */
static void complain(struct python_module *python)
{
    char sentence[PYTHON_SENTENCE_BYTES];
    if (python->told)
        return;
    python->told = true;
    python_say_why(python, sentence);
    if (python->minor >= PYTHON_TRAMPOLINES_FROM)
        record_leave_to_trampolines(sentence, python->minor);
    say(sentence, ": its Python frames are not shown", NULL);
}

struct python_module *python_watched(const struct code_place *place)
{
    struct python_module *python = place->module ? place->module->python : NULL;
    if (!options.python || !python || !place->function ||
        (place->function->start != python->evaluator && !python_evaluates(python, place->function)))
        return NULL;
    if (python_prepare(python))
        return python;
    complain(python);
    return NULL;
}

/* mov rax, [rax + offset] */
static void load_from_rax(struct emitter *e, uint32_t offset)
{
    emit_bytes(e, "\x48\x8b\x80", 3);
    emit_u32(e, offset);
}

static bool begins_evaluator(const struct translation *t, unsigned index)
{
    return t->pc + t->offsets[index] == t->python->evaluator + t->python->module->bias;
}

/* Is the word where it is known to be? While the evaluator is being entered its C frame is not made
 * yet; but then it is not the thread state's either. */
static bool word_is_there(const struct translation *t)
{
    return python_word_is_known(t->python) &&
           !(t->python->layout.has_c_frame && begins_evaluator(t, 0));
}

/* `after`: what is to be counted by then, or was, for what runs after it. The sequence is run again
 * after the exit, and then finds what it looks for. */
static void emit_frame_look(struct translation *t, unsigned next, int after)
{
    struct emitter *e = &t->code;
    const struct python_layout *layout = &t->python->layout;
    bool flags = !flags_dead(t, next);
    uint32_t id = new_exit(t, next, EXIT_PYTHON_FRAME, t->pc + t->offsets[next]);
    cache.exits[id].landing = e->address;
    cache.exits[id].pops = (int)t->uncounted - after;
    struct emitter cold = cold_begin();
    uint64_t changed = cold.address;
    emit_store(&cold, FIELD(target), RAX);
    if (flags)
        restore_flags(&cold);
    emit_unspill(&cold, RAX);
    emit_stub(&cold, id);
    cold_end(&cold);

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
    jump_if(e, IF_NOT_EQUAL, changed);
    if (flags)
        restore_flags(e);
    emit_unspill(e, RAX);
    t->frame_stored = false;
}

void python_emit_line_look(struct translation *t, unsigned next)
{
    struct emitter *e = &t->code;
    bool flags = !flags_dead(t, next);
    uint32_t id = new_exit(t, next, EXIT_PYTHON_LINE, t->pc + t->offsets[next]);
    uint64_t changed = cold_exit(id, flags, 1 << RAX, 0);

    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    emit_load(e, RAX, FIELD(hot.python_ip));
    if (t->python->layout.ip_bytes == 8)
        load_from_rax(e, 0);
    else
        emit_bytes(e, "\x8b\x00", 2); /* mov eax, [rax] */
    op_thread(e, OP_SUB, RAX, FIELD(hot.python_line));
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.python_line_size));
    jump_if(e, IF_NOT_BELOW, changed);
    restore(e, flags, 1 << RAX);
    cache.exits[id].landing = e->address;
}

static bool is_call(const struct instruction *instruction)
{
    return instruction->class == CLASS_CALL || instruction->class == CLASS_CALL_INDIRECT;
}

void python_emit_start(struct translation *t, unsigned first)
{
    const struct instruction *before = first ? &t->instructions[first - 1] : NULL;
    if (begins_evaluator(t, first))
        emit_report(t, first, EXIT_PYTHON_ENTER);
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
        emit_report(t, index, EXIT_PYTHON_LEAVE);
}

void python_emit_end(struct translation *t)
{
    bool called = t->count && is_call(&t->instructions[t->count - 1]);
    if (t->evaluates && t->end == END_CUT && (t->frame_stored || called))
        emit_frame_look(t, t->count, 0);
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

/* What ran before the segment belongs to the frame that was; the block counts it later. */
void python_take_exit(struct native_thread *thread, const struct exit *exit)
{
    int16_t uncounted = exit->pops;
    if (exit->kind == EXIT_PYTHON_LEAVE) {
        python_leave(&core, thread->thread);
        return;
    }
    if (exit->kind == EXIT_PYTHON_LINE) {
        python_line_changed(&core, thread->thread);
        return;
    }
    thread->instructions += uncounted;
    record_settle(thread);
    thread->instructions -= uncounted;
    if (exit->kind == EXIT_PYTHON_ENTER)
        python_enter(&core, thread->thread, thread->hot.current->code->module->python,
                     thread->registers[REGISTER_RDI]);
    else
        python_frame_changed(&core, thread->thread, thread->target);
    if (core.python.module->readiness == PYTHON_MISREAD)
        complain(core.python.module);
}

/* python_watch.c: see python_watch.h. */
#include "engines/native/python_watch.h"
#include "core/python.h"
#include "engines/native/assemble.h"
#include "engines/native/record.h"
#include "engines/native/text.h"

struct python_module *python_watched(const struct code_place *place)
{
    struct python_module *python = place->module ? place->module->python : NULL;
    if (!options.python || !python || !place->function ||
        (place->function->start != python->evaluator && !python_evaluates(python, place->function)))
        return NULL;
    bool unread = python->readiness == PYTHON_UNREAD;
    if (python_prepare(python))
        return python;
    if (unread)
        say(place->module->path,
            " is a CPython that is not known here: its Python frames are not "
            "shown (--python=trampoline may do)",
            NULL);
    return NULL;
}

/* mov rax, [rax + offset] */
static void load_from_rax(struct emitter *e, uint32_t offset)
{
    emit_bytes(e, "\x48\x8b\x80", 3);
    emit_u32(e, offset);
}

/* Leaves the cache by a new exit and goes on after it. */
static void emit_report(struct translation *t, unsigned index, enum exit_kind kind)
{
    uint32_t id = new_exit(t, index, kind, t->pc + t->offsets[index]);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_stub(&t->code, id);
    cache.exits[id].landing = t->code.address;
    cache.exits[id].pops = t->uncounted;
}

/* The sequence is run again after the exit, and then finds what it looks for. */
static void emit_compare(struct translation *t, unsigned first)
{
    struct emitter *e = &t->code;
    const struct python_layout *layout = &t->python->layout;
    bool flags = !flags_dead(t, first);
    uint32_t id = new_exit(t, first, EXIT_PYTHON_FRAME, t->pc + t->offsets[first]);
    cache.exits[id].landing = e->address;
    cache.exits[id].pops = t->uncounted;
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
    emit_load(e, RAX, FIELD(hot.python_state));
    load_from_rax(e, layout->state_frame);
    if (layout->has_c_frame)
        load_from_rax(e, layout->c_frame_frame);
    op_thread(e, OP_COMPARE, RAX, FIELD(hot.python_frame));
    jump_if(e, IF_NOT_EQUAL, changed);
    if (flags)
        restore_flags(e);
    emit_unspill(e, RAX);
}

void python_emit_look(struct translation *t, unsigned first)
{
    bool enters = t->pc + t->offsets[first] == t->python->evaluator + t->python->module->bias;
    if (enters)
        emit_report(t, first, EXIT_PYTHON_ENTER);
    else if (python_evaluates(t->python, code_map_find(&core.code, t->pc).function))
        emit_compare(t, first);
}

void python_emit_leave(struct translation *t, unsigned index)
{
    emit_report(t, index, EXIT_PYTHON_LEAVE);
}

/* What ran before the segment belongs to the frame that was; the block counts it later. */
void python_take_exit(struct native_thread *thread, const struct exit *exit)
{
    unsigned uncounted = exit->pops;
    if (exit->kind == EXIT_PYTHON_LEAVE) {
        python_leave(&core, thread->thread);
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
}

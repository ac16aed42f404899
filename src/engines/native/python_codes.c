/* python_codes.c: see python_codes.h. */
#include "engines/native/python_codes.h"
#include "core/python_memory.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/fast.h"
#include "engines/native/python_calls.h"
#include "engines/native/python_line.h"
#include "engines/native/record.h"

#define PYTHON_CODE_MASK ((PYTHON_CODE_SLOTS - 1) * (uint32_t)sizeof(struct python_code_slot))

/* What a thread that has run no Python knows. */
static struct python_code_slot no_codes[PYTHON_CODE_SLOTS];

void python_codes_init_thread(struct native_thread *thread)
{
    if (!thread->python_codes)
        thread->python_codes = no_codes;
}

static struct python_code_slot *python_code_slot(const struct native_thread *thread, uint64_t code)
{
    return (struct python_code_slot *)((uint8_t *)thread->python_codes + (code & PYTHON_CODE_MASK));
}

void emit_code_slot(struct emitter *e)
{
    op_register32(e, OP_LOAD, RAX, RCX);
    op_constant32(e, 4, RAX, PYTHON_CODE_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(python_codes));
}

/* The context of the whole function where `context` is that of one of its lines. */
static struct context *whole_of(struct context *context)
{
    return context_is_line(context) ? context->parent : context;
}

/* At function detail the others are `children`. */
static unsigned first_slot(void)
{
    return core.tree.by_entry ? offsetof(struct context, further) / sizeof(struct context_slot) -
                                    offsetof(struct context, slots) / sizeof(struct context_slot)
                              : 0;
}

void python_remember(struct native_thread *thread)
{
    struct python *python = &core.python;
    const struct python_frames *frames = &thread->thread->stack->python;
    struct python_entry *newest = frames->items + frames->count - 1;
    struct python_frame frame;
    bool starts;
    if (frames->count < 2 || newest->base || newest->frame != thread->target ||
        !python_read_frame(python->module, newest->frame, &frame))
        return;
    struct context *caller = newest[-1].context, *called = whole_of(newest->context);
    struct code_function *function = python_function_of(python, &frame, &starts);
    if (!function || called->function != function ||
        called->parent != python_calling(&core, caller))
        return;
    python_calls_begin(thread);
    if (thread->python_codes == no_codes)
        thread->python_codes = arena_allocate(sizeof no_codes);
    unsigned hash = (uintptr_t)function >> 4 ^ (uintptr_t)function >> 7;
    unsigned place = first_slot() + hash % (CONTEXT_SLOTS - first_slot());
    struct python_code_slot *slot = python_code_slot(thread, frame.code);
    *slot = (struct python_code_slot){
        .code = frame.code,
        .function = (uint64_t)function,
        .beside = offsetof(struct context, slots) + place * sizeof(struct context_slot),
        .was_called = slot->was_called,
        .lines = newest->place.lines,
    };
    /* Direct calls have the numbers of their sites there, which are no addresses. */
    if (!caller->slots[place].site || caller->slots[place].site >> 32)
        caller->slots[place] = (struct context_slot){(uint64_t)function, called};
    *fast_indirect_slot(thread, caller, PYTHON_SITE, (uint64_t)function) = (struct child_slot){
        .key = caller->key + PYTHON_SITE,
        .child = called,
        .target = (uint64_t)function,
    };
    if (newest->place.lines)
        python_remember_line(thread, called, newest);
}

void python_forget(struct native_thread *thread, uint64_t code)
{
    struct python_code_slot *slot = python_code_slot(thread, code);
    if (slot->was_called)
        python_calls_forget(thread, code);
    if (slot->code == code)
        slot->code = 0;
}

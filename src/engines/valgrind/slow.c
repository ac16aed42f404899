/*
 * slow.c: what inline code calls when its guess was wrong.
 *
 * Inline code does its stores after these return, whether they were called or not. So each leaves
 * things such that those stores are right: slow_return pushes an entry for the inline pop to take,
 * slow_call puts the child where the inline code will look for it. The program's stack pointer is
 * up to date when they are called.
 */
#include "engines/x86_64/python_prologue.h"
#include "children.h"
#include "engine.h"

#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"

static Bool is_python(const struct context *context)
{
    return (context->function->flags & CODE_FUNCTION_PYTHON) != 0;
}

static UWord stack_pointer(void)
{
    return VG_(get_SP)(VG_(get_running_tid)());
}

static Bool frame_is_left(UWord sp)
{
    return hot->top[-1].stack_pointer - 8 - sp > hot->reach;
}

/* The entry that inline code will look into, for a child that it must not find again: what it does
 * next, to make that context current and count a call of it, has no effect. */
static void use_once(struct child *entry)
{
    entry->key = 0;
    entry->context = hot->current;
    hot->current->calls--;
}

/* ---- jumps ---- */

/* What a jump from the current context to `target` changes. If that is the context alone, which can
 * be repeated, it is remembered in `children`, and the result is true. */
static Bool jump_to(Addr target, UWord sp)
{
    struct context *current = hot->current;
    struct child *entry = child_entry(current->key, target);

    if (entry->key == current->key && entry->target == target && !hot->pending_site &&
        !frame_is_left(sp)) {
        hot->current = entry->context;
        hot->current->calls++;
        return True;
    }
    struct stack_entry *top = hot->top;
    struct stack *stack = running->stack;
    Bool pending = hot->pending_site != 0;
    if (frame_is_left(sp))
        core_jump(&core, running, target, sp);
    core_mismatch(&core, running, target, sp);
    core_keep_room(&core, running);
    children_follow_core();
    /* No entry, no stack changed. Going back to a Python frame is no call of it, nor is going on
     * under another name. */
    if (pending || hot->top != top || running->stack != stack || hot->current == current ||
        is_python(hot->current) || context_renamed(current, hot->current))
        return False;
    *entry = (struct child){.key = current->key, .target = target, .context = hot->current};
    return True;
}

VG_REGPARM(1) void slow_jump(UWord target)
{
    jump_to(target, stack_pointer());
}

/* The inline code goes on with the entry for the context that was current. */
VG_REGPARM(1) void slow_tail_call(UWord target)
{
    struct child *entry = child_entry(hot->current->key, target);

    if (jump_to(target, stack_pointer()))
        hot->current->calls--;
    else
        use_once(entry);
}

/* ---- calls ---- */

static void make_room(void)
{
    core_keep_room(&core, running);
    if (hot->top == hot->limit)
        core_grow_stack(&core, running);
}

/* Sites that share a slot, or whose place was taken, find their children in the tree's cache before
 * the tree is searched. */
VG_REGPARM(1) void slow_call(UWord site)
{
    const struct call_site *known = call_site(site);
    uint64_t key = child_key(hot->current, site);
    struct child *entry = child_entry(key, 0);

    if (entry->key != key) {
        struct context *child = core_callee(&core, running, site, known->target);
        children_follow_core();
        *entry = (struct child){.key = key, .target = known->target, .context = child};
    }
    make_room();
    if (known->slot != NO_SLOT)
        hot->current->slots[known->slot] =
            (struct context_slot){.site = site, .child = entry->context};
}

VG_REGPARM(2) void slow_call_indirect(UWord site, UWord target)
{
    uint64_t key = child_key(hot->current, site);
    struct child *entry = child_entry(key, target);

    make_room();
    if (entry->key == key && entry->target == target)
        return;
    struct context *child = core_callee(&core, running, site, target);
    children_follow_core();
    core_keep_room(&core, running);
    /* Where there is no child to enter yet, the current context stands in for it. */
    if (child)
        *entry = (struct child){.key = key, .target = target, .context = child};
    else
        use_once(entry);
}

/* A PLT stub is about to jump to `target`; `site` is the call that went into the stub, 0 if it
 * was a jump. While the target is the lazy resolver's own stub, the call is still pending. */
VG_REGPARM(2) void slow_stub(UWord site, UWord target)
{
    if (site)
        slow_call_indirect(site, target);
    else
        slow_tail_call(target);
}

VG_REGPARM(0) void slow_grow(void)
{
    core_grow_stack(&core, running);
}

/* ---- returns ---- */

/* Leaves an entry for the inline code to pop. */
VG_REGPARM(1) void slow_return_to(UWord target)
{
    UWord sp = stack_pointer();

    core_return(&core, running, target, sp);
    core_mismatch(&core, running, target, sp);
    children_follow_core();
    core_keep_room(&core, running);
    core_push(&core, running, 0, 0);
}

VG_REGPARM(0) void slow_return(void)
{
    slow_return_to(*(const UWord *)(stack_pointer() - 8));
}

/* A function begins that may return on another stack. */
VG_REGPARM(0) void slow_swap(void)
{
    core_swap(&core, running);
}

/* ---- Python ---- */

/* Blocks from before the word's place was known look for the frame when it is there by either way. */
VG_REGPARM(3) void slow_python_enter(struct python_module *module, UWord state, UWord called)
{
    python_enter(&core, running, module, state, python_brings_frame(module) ? called : 0);
    if (module->readiness == PYTHON_MISREAD)
        python_refuse(module);
}

VG_REGPARM(1) void slow_python_frame(UWord frame)
{
    struct python_module *python = core.python.module;
    Bool knew_word = python_word_is_known(python);

    python_frame_changed(&core, running, frame);
    if (python->readiness == PYTHON_MISREAD)
        python_refuse(python);
    /* Blocks from before look for it more often than is needed, but not where it is stored. */
    const struct code_function *evaluator = hot->current->code;
    if (!knew_word && python_word_is_known(python))
        blocks_make_stale(evaluator->start + python->module->bias,
                          evaluator->end + python->module->bias);
}

/* Instructions of a context's evaluator are counted in its .calls, see counters.h. */
VG_REGPARM(1) void slow_python_line(UWord left)
{
    hot->current->calls -= left;
    python_line_changed(&core, running);
    hot->current->calls += left;
}

VG_REGPARM(1) void slow_python_freed(UWord code)
{
    python_code_freed(&core.python, code);
}

VG_REGPARM(0) void slow_python_leave(void)
{
    python_leave(&core, running);
}

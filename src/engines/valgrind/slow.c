/*
 * slow.c: what inline code calls when its guess was wrong.
 *
 * Inline code does its stores after these return, whether they were called or not. So each leaves
 * things such that those stores are right: slow_return pushes an entry for the inline pop to take,
 * slow_call puts the child where the inline code will look for it.
 */
#include "engine.h"

#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"

static Bool is_python(const struct context *context)
{
    return (context->function->flags & CODE_FUNCTION_PYTHON) != 0;
}

/* The change of context that a jump from the current one to this block makes is remembered in the
 * tree's cache. */
VG_REGPARM(2) void slow_mismatch(struct block_info *info, UWord sp)
{
    struct context *current = hot.current;
    uint64_t key = current->key + JUMP_TO(info);
    struct tree_cache_entry *entry = tree_cache_slot(&core.tree, key);

    if (entry->key == key && !hot.pending_site &&
        hot.top[-1].stack_pointer - 8 - sp <= hot.reach) {
        hot.current = entry->child;
        entry->child->calls += entry->child != current;
        return;
    }
    struct stack_entry *top = hot.top;
    struct stack *stack = running->stack;
    Bool pending = hot.pending_site != 0;
    core_mismatch(&core, running, info->address, sp);
    core_keep_room(&core, running);
    /* Only a change of context alone can be repeated: no entry, no stack changed. Going back to a
     * Python frame is no call of it, nor is going on under another name. */
    if (!pending && hot.top == top && running->stack == stack && !is_python(hot.current) &&
        !context_renamed(current, hot.current))
        *entry = (struct tree_cache_entry){.key = key, .child = hot.current};
}

/* A direct jump to the start of another block that is not of this function. The inline code will
 * make the slot's child current, and count a call for it. */
VG_REGPARM(2) void slow_tail_call(struct block_info *info, UWord sp)
{
    struct context *current = hot.current;
    struct stack_entry *top = hot.top;
    struct stack *stack = running->stack;
    uint32_t token = JUMP_TO(info);

    if (hot.pending_site)
        token = 0;
    slow_mismatch(info, sp);
    hot.current->calls--;
    if (hot.top != top || running->stack != stack || hot.current == current ||
        is_python(hot.current))
        token = 0;
    current->slots[info->number % CONTEXT_SLOTS] =
        (struct context_slot){.site = token, .child = hot.current};
}

/* The inline code will go on with entry->child, and count a call for it. Where there is no child
 * to enter yet, the current context stands in for it. */
static void stay(struct tree_cache_entry *entry)
{
    entry->key = UINT64_MAX;
    entry->child = hot.current;
    hot.current->calls--;
}

static void make_room(void)
{
    core_keep_room(&core, running);
    if (hot.top == hot.limit)
        core_grow_stack(&core, running);
}

/* Sites that share a slot find their children in the tree's cache before the tree is searched. */
VG_REGPARM(0) void slow_call(void)
{
    const struct block_info *info = block_executing();
    uint32_t site = info->site;
    uint64_t target = info->target;
    uint64_t key = hot.current->key + site;
    struct tree_cache_entry *entry = tree_cache_slot(&core.tree, key + target);

    if (entry->key != key || entry->child->entry != target)
        *entry = (struct tree_cache_entry){
            .key = key, .child = core_callee(&core, running, site, target)};
    make_room();
    hot.current->slots[site % CONTEXT_SLOTS] =
        (struct context_slot){.site = site, .child = entry->child};
}

VG_REGPARM(3) void slow_call_indirect(struct tree_cache_entry *entry, UWord site, UWord target)
{
    make_room();
    if (entry->key == hot.current->key + site && entry->child->entry == target)
        return;
    struct context *child = core_callee(&core, running, site, target);

    core_keep_room(&core, running);
    if (child)
        *entry = (struct tree_cache_entry){.key = hot.current->key + site, .child = child};
    else
        stay(entry);
}

/* A PLT stub is about to jump to `target`; `site` is the call that went into the stub, 0 if it
 * was a jump. While the target is the lazy resolver's own stub, the call is still pending. */
VG_REGPARM(3) void slow_stub(struct tree_cache_entry *entry, UWord site, UWord target)
{
    if (site) {
        slow_call_indirect(entry, site, target);
        return;
    }
    slow_mismatch(block_info_at(target), VG_(get_SP)(VG_(get_running_tid)()));
    stay(entry);
}

VG_REGPARM(0) void slow_grow(void)
{
    core_grow_stack(&core, running);
}

VG_REGPARM(2) void slow_return(UWord target, UWord sp)
{
    core_return(&core, running, target, sp);
    core_mismatch(&core, running, target, sp);
    core_keep_room(&core, running);
    core_push(&core, running, 0, 0);
}

VG_REGPARM(2) void slow_jump(UWord target, UWord sp)
{
    if (hot.top[-1].stack_pointer - 8 - sp > hot.reach)
        core_jump(&core, running, target, sp);
    slow_mismatch(block_info_at(target), sp);
}

VG_REGPARM(2) void slow_python_enter(struct python_module *module, UWord state)
{
    python_enter(&core, running, module, state);
}

void unknown_python(struct python_module *python)
{
    if (python->told)
        return;
    python->told = True;
    VG_(printf)("trueflame: %s is a CPython %s: its Python frames are not shown "
                "(--python=trampoline may do)\n", python->module->path,
                python->readiness == PYTHON_MISREAD ? "whose frames are not as expected"
                                                    : "that is not known here");
}

VG_REGPARM(1) void slow_python_frame(UWord frame)
{
    python_frame_changed(&core, running, frame);
    if (core.python.module->readiness == PYTHON_MISREAD)
        unknown_python(core.python.module);
}

VG_REGPARM(0) void slow_python_line(void)
{
    python_line_changed(&core, running);
}

VG_REGPARM(0) void slow_python_leave(void)
{
    python_leave(&core, running);
}

VG_REGPARM(1) void slow_count(ULong key)
{
    counts_miss(&core.counts, key);
}

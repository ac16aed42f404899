/*
 * stacks.c: the shadow stacks of a process: which there are, which of them each thread runs on, and
 * to which tree their entries belong.
 *
 * One is a thread's; further ones are found as the program switches to them. Those that do not run
 * are suspended: found again by the stack pointer and the return address of their newest call.
 */
#include "core/stack.h"
#include "core/grow.h"
#include "core/platform.h"

#define FIRST_ENTRIES 256

#define SWITCH_LOOK     64
#define SWITCH_DISTANCE 4096

/* ---- the stacks of a process ---- */

static size_t suspended_bucket(uint64_t sp)
{
    return (sp * TREE_MIX) >> 52;
}

/* Frames may go on on another stack without a jump that shows it: Go's mcall and morestack set the
 * stack pointer to the scheduler's stack and call from there. Such a call does not lie below its
 * caller, or far below it. The first entry made there, NULL if there is none near the top. */
struct stack_entry *stack_switch_point(const struct stack *stack, struct stack_entry *top)
{
    struct stack_entry *entry = top - 1;

    for (unsigned i = 0; i < SWITCH_LOOK && entry - 1 > stack->base; i++, entry--)
        if (entry[-1].stack_pointer - entry->stack_pointer > SWITCH_DISTANCE)
            return entry;
    return NULL;
}

void stack_unsuspend(struct core *core, struct stack *stack)
{
    struct stack **at = &core->suspended[suspended_bucket(stack->saved.top[-1].stack_pointer)];

    while (*at && *at != stack)
        at = &(*at)->next_suspended;
    if (*at)
        *at = stack->next_suspended;
    stack->suspended = false;
    if (!stack->parked)
        return;
    at = &core->parked[suspended_bucket(stack->parked->stack_pointer)];
    while (*at && *at != stack)
        at = &(*at)->next_parked;
    if (*at)
        *at = stack->next_parked;
    stack->parked = NULL;
}

static void suspended_insert(struct core *core, struct stack *stack)
{
    struct stack **at = &core->suspended[suspended_bucket(stack->saved.top[-1].stack_pointer)];
    struct stack_entry *point = stack_switch_point(stack, stack->saved.top);

    stack->next_suspended = *at;
    *at = stack;
    stack->suspended = true;
    if (!point)
        return;
    stack->parked = point - 1;
    at = &core->parked[suspended_bucket(stack->parked->stack_pointer)];
    stack->next_parked = *at;
    *at = stack;
}

bool stack_entry_says(const struct stack_entry *entry, uint64_t target, uint64_t sp)
{
    return entry->return_address == target && entry->stack_pointer == sp;
}

/* Does the stack go on there, behind `entry`? */
static bool goes_on(const struct core *core, const struct stack *stack,
                    const struct stack_entry *entry, const struct stack_entry *place, bool surely)
{
    return stack_entry_says(entry, place->return_address, place->stack_pointer) &&
           !stack->displaced && (!surely || stack_lies_there(core, stack, entry));
}

struct stack *stack_find_suspended(struct core *core, uint64_t target, uint64_t sp, bool surely,
                                   const struct stack_entry **entry)
{
    const struct stack_entry place = {.return_address = target, .stack_pointer = sp};

    for (struct stack *at = core->suspended[suspended_bucket(sp)]; at; at = at->next_suspended)
        if (goes_on(core, at, at->saved.top - 1, &place, surely)) {
            *entry = at->saved.top - 1;
            return at;
        }
    for (struct stack *at = core->parked[suspended_bucket(sp)]; at; at = at->next_parked)
        if (goes_on(core, at, at->parked, &place, surely)) {
            *entry = at->parked;
            return at;
        }
    return NULL;
}

void stack_note_mapping(struct stack *stack, uint64_t sp)
{
    uint64_t start;

    if (!platform_find_mapping(sp, &start, &stack->mapping_end))
        stack->mapping_end = 0;
}

/* Mappings grow together with their neighbours and are cut in two; a stack stays where it is. */
bool stack_is_in(const struct stack *stack, uint64_t start, uint64_t end)
{
    uint64_t bottom = stack->base->stack_pointer - 8;

    return stack->mapping_end == end || (bottom >= start && bottom < end);
}

/* One more than is asked for: an engine may have the current context in the entry that comes next. */
static struct stack_entry *entries_allocate(size_t count)
{
    return platform_allocate((count + 1) * sizeof(struct stack_entry));
}

static void entries_release(struct stack_entry *entries, size_t count)
{
    platform_release(entries, (count + 1) * sizeof *entries);
}

/* An empty stack whose bottom hangs at `context`. The object of a stack that began at the same
 * place is used again: its memory has a new life. */
struct stack *stack_new(struct core *core, struct context *context, uint64_t sp)
{
    struct stack *stack = core->stacks;

    while (stack && (!stack->suspended || stack->for_signal || stack->start_unknown ||
                     stack->base->stack_pointer != sp))
        stack = stack->next;
    if (stack) {
        stack_unsuspend(core, stack);
    } else {
        stack = platform_allocate(sizeof *stack);
        stack->next = core->stacks;
        core->stacks = stack;
        stack->base = entries_allocate(FIRST_ENTRIES);
        stack->limit = stack->base + FIRST_ENTRIES;
    }
    stack->plane = core->plane;
    stack->base[0] = (struct stack_entry){.return_address = STACK_BOTTOM_MARK,
                                          .stack_pointer = sp,
                                          .context = context,
                                          .code = core->no_landing};
    stack->saved = (struct hot){.current = context, .top = stack->base + 1};
    stack->start_unknown = !sp;
    stack->displaced = false;
    stack->python.count = 0;
    stack_forget_swapped(stack);
    if (sp)
        stack_note_mapping(stack, sp - 8);
    return stack;
}

void stack_release(struct core *core, struct stack *stack)
{
    struct stack **at = &core->stacks;

    while (*at != stack)
        at = &(*at)->next;
    *at = stack->next;
    stack_forget_swapped(stack);
    entries_release(stack->base, stack->limit - stack->base);
    python_frames_release(&stack->python);
    platform_release(stack, sizeof *stack);
}

/* Room for so many entries on a stack that nobody runs on and that is empty. */
void stack_reserve(struct stack *stack, size_t count)
{
    size_t capacity = stack->limit - stack->base;

    if (capacity >= count)
        return;
    entries_release(stack->base, capacity);
    while (capacity < count)
        capacity *= 2;
    stack->base = entries_allocate(capacity);
    stack->limit = stack->base + capacity;
}

void core_grow_stack(struct core *core, struct thread *thread)
{
    struct stack *stack = thread->stack;
    size_t count = stack->limit - stack->base;
    struct stack_entry *base = entries_allocate(2 * count);

    (void)core;
    for (size_t i = 0; i < count; i++)
        base[i] = stack->base[i];
    thread->hot->top = base + (thread->hot->top - stack->base);
    entries_release(stack->base, count);
    stack->base = base;
    stack->limit = base + 2 * count;
    thread->hot->limit = stack->limit;
    thread->hot->base = stack->base;
}

/* ---- planes ---- */

static struct context *root_in_plane(struct core *core, struct thread *thread, uint32_t plane)
{
    for (uint32_t i = core->root_count; i-- > 0;)
        if (core->roots[i].plane == plane && core->roots[i].thread == thread)
            return core->roots[i].context;
    GROW(core->roots, core->root_count, core->root_capacity, 64);
    struct context *root = tree_new_root(&core->tree, core->root_function);
    core->roots[core->root_count++] =
        (struct plane_root){.context = root, .thread = thread, .plane = plane};
    return root;
}

static struct thread *thread_of_root(const struct core *core, const struct context *root)
{
    for (uint32_t i = core->root_count; i-- > 0;)
        if (core->roots[i].context == root)
            return core->roots[i].thread;
    return core->threads;
}

/* The context with the same path in the current plane. `known` and `twin` are a pair that is
 * already matched, from which the path is likely to go on; NULL for none. */
static struct context *twin_of(struct core *core, struct context *context, struct context *known,
                               struct context *twin)
{
    size_t depth = 0;
    struct context *above = context;

    for (; above != known && above->parent; above = above->parent)
        depth++;
    if (above != known)
        twin = root_in_plane(core, thread_of_root(core, above), core->plane);
    if (!depth)
        return twin;
    struct context **path = platform_allocate(depth * sizeof *path);
    above = context;
    for (size_t i = depth; i-- > 0; above = above->parent)
        path[i] = above;
    for (size_t i = 0; i < depth; i++)
        twin = tree_twin_of(&core->tree, twin, path[i]);
    platform_release(path, depth * sizeof *path);
    return twin;
}

static void move_to_plane(struct core *core, struct stack *stack, struct hot *hot)
{
    struct context *known = NULL;
    struct context *twin = NULL;

    if (stack->plane == core->plane)
        return;
    for (struct stack_entry *entry = stack->base; entry < hot->top; entry++) {
        struct context *context = entry->context;
        if (context != known)
            twin = twin_of(core, context, known, twin);
        known = context;
        entry->context = twin;
    }
    hot->current = twin_of(core, hot->current, known, twin);
    known = NULL;
    for (size_t i = 0; i < stack->python.count; i++) {
        struct context *context = stack->python.items[i].context;
        if (context != known)
            twin = twin_of(core, context, known, twin);
        known = context;
        stack->python.items[i].context = twin;
        stack->python.items[i].place.steps = NULL; /* they lead to contexts of the plane that was */
    }
    stack->plane = core->plane;
}

void core_resume(struct core *core, struct thread *thread)
{
    python_count_frames(core, thread);
    move_to_plane(core, thread->stack, thread->hot);
    core_keep_room(core, thread);
}

/* ---- which stack ---- */

void stack_load(struct core *core, struct thread *thread, struct stack *stack)
{
    struct hot *hot = thread->hot;

    thread->stack = stack;
    hot->current = stack->saved.current;
    hot->top = stack->saved.top;
    hot->limit = stack->limit;
    hot->base = stack->base;
    hot->pending_site = stack->saved.pending_site;
    hot->reach = STACK_FIRST_REACH;
    move_to_plane(core, stack, hot);
    python_stack_loaded(core, thread);
    core_keep_room(core, thread);
}

void stack_save(struct core *core, struct thread *thread)
{
    struct stack *stack = thread->stack;

    stack->saved.current = thread->hot->current;
    stack->saved.top = thread->hot->top;
    stack->saved.pending_site = thread->hot->pending_site;
    python_count_frames(core, thread);
    suspended_insert(core, stack);
}

/* A handler's stack that control has left for another is over, and so are the handlers that it
 * interrupted in turn, down to the stack that goes on. */
void stack_switch_to(struct core *core, struct thread *thread, struct stack *stack)
{
    struct stack *left = thread->stack;

    if (left->for_signal) {
        while (left != stack && left->for_signal) {
            struct stack *interrupted = left->interrupted;
            if (left->suspended)
                stack_unsuspend(core, left);
            stack_release(core, left);
            left = interrupted;
        }
    } else {
        stack_save(core, thread);
    }
    if (stack->suspended)
        stack_unsuspend(core, stack);
    stack_load(core, thread, stack);
    core->repairs[REPAIR_STACK_SWITCH]++;
}

/* The stack that sp lies on: of those in the same mapping, the one whose bottom is nearest above.
 * NULL if there is none, and where another thread runs on it: then it only seems so, because the
 * true one is new. */
struct stack *stack_owner_of(struct core *core, const struct thread *thread, uint64_t sp)
{
    struct stack *owner = NULL;
    uint64_t start, end;

    if (!platform_find_mapping(sp, &start, &end))
        return NULL;
    for (struct stack *stack = core->stacks; stack; stack = stack->next)
        if (stack_is_in(stack, start, end) && !stack->start_unknown && !stack->displaced &&
            stack->base->stack_pointer >= sp &&
            (!owner || stack->base->stack_pointer < owner->base->stack_pointer))
            owner = stack;
    return owner && (owner->suspended || owner == thread->stack) ? owner : NULL;
}

/* Room for the return address that a started function finds above its frame, and for what the
 * program's own start-up code pops. */
struct stack *stack_at(struct core *core, struct thread *thread, uint64_t sp)
{
    return stack_new(core, root_in_plane(core, thread, core->plane), sp + STACK_START_ROOM);
}

void stack_start_new(struct core *core, struct thread *thread, uint64_t sp)
{
    struct stack *stack = stack_at(core, thread, sp);

    stack_displace_others(core, stack, sp);
    stack_switch_to(core, thread, stack);
    core->repairs[REPAIR_STACK_SWITCH]--;
    core->repairs[REPAIR_NEW_STACK]++;
}

/* ---- threads ---- */

struct thread *core_thread_new(struct core *core, uint64_t stack_pointer)
{
    struct thread *thread = platform_allocate(sizeof *thread);

    thread->number = ++core->thread_count;
    thread->hot = &thread->own;
    thread->next = core->threads;
    core->threads = thread;
    stack_load(core, thread,
               stack_new(core, root_in_plane(core, thread, core->plane), stack_pointer + 8));
    return thread;
}

void core_thread_end(struct core *core, struct thread *thread)
{
    thread->ended = true;
    stack_release(core, thread->stack);
    thread->stack = NULL;
}

/* The other threads are gone, and their stacks, though their memory is still there: those that ended
 * long before are the parent's too, which may have had thousands. */
static void forget_other_threads(struct core *core, struct thread *thread)
{
    for (struct thread *other = core->threads; other; other = other->next)
        if (other != thread && !other->ended)
            core_thread_end(core, other);
    core->threads = thread;
    thread->next = NULL;
    thread->number = core->thread_count = 1;
}

/* Stacks of coroutines stay: any of them may be resumed by the thread that goes on, and is its own
 * then, whoever began it. */
void core_forked(struct core *core, struct thread *thread)
{
    forget_other_threads(core, thread);
    for (uint32_t i = 0; i < core->part_count; i++)
        core->parts[i].dropped = true;
    for (uint32_t i = 0; i < core->root_count; i++) {
        core->roots[i].plane = PLANE_INHERITED;
        core->roots[i].thread = thread;
    }
    for (struct stack *stack = core->stacks; stack; stack = stack->next) {
        stack->plane = PLANE_INHERITED;
        stack_inherit_swapped(stack);
    }
    for (unsigned i = 0; i < REPAIR_KINDS; i++)
        core->repairs[i] = 0;
    jit_forked(&core->jit);
    core->note_count = 0;
    core->tree.inherited = core->tree.count;
    if (core->options.line_detail)
        counts_begin_again(&core->counts);
    core_zero(core);
    core_resume(core, thread);
}

/*
 * stack.c: the shadow stacks, and what happens when an event is not an ordinary call or return.
 *
 * Everything is decided from three things: where control goes (target), the program's stack
 * pointer there (sp), and the entries of the shadow stacks. An entry has been *left* when sp is
 * at or above its stack_pointer.
 *
 *      higher addresses          entries (newest last)
 *      |  main's frame  |
 *      |----------------| <- sp of {return into main}       left? sp >= here
 *      |  f's frame     |
 *      |----------------| <- sp of {return into f}
 *      |  g's frame     | <- sp now
 *
 * Order of explanation, first that fits (a return to where the newest entry says, a little below
 * its sp, is one before all others):
 *   1. an entry that was left has this target and this sp: a return, over one or many frames
 *   2. a suspended stack's newest entry has: the program came back to that stack; its newest but
 *      for calls that were made on a scheduler's stack (switch_point); such a part of the stack
 *      of another thread is taken from there
 *   3. an entry below others that were not left has: calls were made on a stack within this one;
 *      or it has but for sp, and the stack's other words lie around sp: the program has moved it
 *   4. sp lies on another stack that is known: went there some other way (longjmp between stacks)
 *   5. sp lies on no stack that is known, or control starts a function where no frame's end is:
 *      a new stack
 *   6. entries were left: an unwind
 *   7. nothing happened to the stack: a jump
 */
#include "core/core.h"
#include "core/platform.h"
#include "core/text.h"

#define FIRST_ENTRIES 256

#define SWITCH_LOOK     64
#define SWITCH_DISTANCE 4096

const char *const repair_names[REPAIR_KINDS] = {
    [REPAIR_UNWIND] = "unwind",
    [REPAIR_STACK_SWITCH] = "stack-switch",
    [REPAIR_NEW_STACK] = "new-stack",
    [REPAIR_RETURN_AS_JUMP] = "return-as-jump",
    [REPAIR_UNMATCHED_RETURN] = "unmatched-return",
    [REPAIR_PYTHON] = "python-resync",
};

/* ---- the stacks of a process ---- */

static size_t suspended_bucket(uint64_t sp)
{
    return (sp * TREE_MIX) >> 52;
}

/* Frames may go on on another stack without a jump that shows it: Go's mcall and morestack set the
 * stack pointer to the scheduler's stack and call from there. Such a call does not lie below its
 * caller, or far below it. The first entry made there, NULL if there is none near the top. */
static struct stack_entry *switch_point(const struct stack *stack, struct stack_entry *top)
{
    struct stack_entry *entry = top - 1;

    for (unsigned i = 0; i < SWITCH_LOOK && entry - 1 > stack->base; i++, entry--)
        if (entry[-1].stack_pointer - entry->stack_pointer > SWITCH_DISTANCE)
            return entry;
    return NULL;
}

static void suspended_remove(struct core *core, struct stack *stack)
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
    struct stack_entry *point = switch_point(stack, stack->saved.top);

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

static bool says(const struct stack_entry *entry, uint64_t target, uint64_t sp)
{
    return entry->return_address == target && entry->stack_pointer == sp;
}

/* The stack that goes on there, and the entry that says so; NULL for none. */
static struct stack *suspended_find(struct core *core, uint64_t target, uint64_t sp,
                                    const struct stack_entry **entry)
{
    for (struct stack *at = core->suspended[suspended_bucket(sp)]; at; at = at->next_suspended)
        if (says(at->saved.top - 1, target, sp)) {
            *entry = at->saved.top - 1;
            return at;
        }
    for (struct stack *at = core->parked[suspended_bucket(sp)]; at; at = at->next_parked)
        if (says(at->parked, target, sp)) {
            *entry = at->parked;
            return at;
        }
    return NULL;
}

static void note_mapping(struct stack *stack, uint64_t sp)
{
    uint64_t start;

    if (!platform_find_mapping(sp, &start, &stack->mapping_end))
        stack->mapping_end = 0;
}

/* An empty stack whose bottom hangs at `context`. The object of a stack that began at the same
 * place is used again: its memory has a new life. */
static struct stack *stack_new(struct core *core, struct context *context, uint64_t sp)
{
    struct stack *stack = core->stacks;

    while (stack && (!stack->suspended || stack->for_signal || stack->start_unknown ||
                     stack->base->stack_pointer != sp))
        stack = stack->next;
    if (stack) {
        suspended_remove(core, stack);
    } else {
        stack = platform_allocate(sizeof *stack);
        stack->next = core->stacks;
        core->stacks = stack;
        stack->base = platform_allocate(FIRST_ENTRIES * sizeof *stack->base);
        stack->limit = stack->base + FIRST_ENTRIES;
    }
    stack->plane = core->plane;
    stack->base[0] = (struct stack_entry){
        .return_address = STACK_BOTTOM_MARK, .stack_pointer = sp, .context = context,
        .code = core->no_landing};
    stack->saved = (struct hot){.current = context, .top = stack->base + 1};
    stack->start_unknown = !sp;
    stack->python.count = 0;
    if (sp)
        note_mapping(stack, sp - 8);
    return stack;
}

static void stack_release(struct core *core, struct stack *stack)
{
    struct stack **at = &core->stacks;

    while (*at != stack)
        at = &(*at)->next;
    *at = stack->next;
    platform_release(stack->base, (stack->limit - stack->base) * sizeof *stack->base);
    platform_release(stack->python.items, stack->python.capacity * sizeof *stack->python.items);
    platform_release(stack, sizeof *stack);
}

/* Room for so many entries on a stack that nobody runs on and that is empty. */
static void stack_reserve(struct stack *stack, size_t count)
{
    size_t capacity = stack->limit - stack->base;

    if (capacity >= count)
        return;
    platform_release(stack->base, capacity * sizeof *stack->base);
    while (capacity < count)
        capacity *= 2;
    stack->base = platform_allocate(capacity * sizeof *stack->base);
    stack->limit = stack->base + capacity;
}

void core_grow_stack(struct core *core, struct thread *thread)
{
    struct stack *stack = thread->stack;
    size_t count = stack->limit - stack->base;
    struct stack_entry *base = platform_allocate(2 * count * sizeof *base);

    (void)core;
    for (size_t i = 0; i < count; i++)
        base[i] = stack->base[i];
    thread->hot->top = base + (thread->hot->top - stack->base);
    platform_release(stack->base, count * sizeof *base);
    stack->base = base;
    stack->limit = base + 2 * count;
    thread->hot->limit = stack->limit;
}

/* ---- planes ---- */

static struct context *root_in_plane(struct core *core, struct thread *thread, uint32_t plane)
{
    for (uint32_t i = core->root_count; i-- > 0;)
        if (core->roots[i].plane == plane && core->roots[i].thread == thread)
            return core->roots[i].context;
    if (core->root_count == core->root_capacity) {
        uint32_t capacity = core->root_capacity ? 2 * core->root_capacity : 64;
        struct plane_root *roots = platform_allocate(capacity * sizeof *roots);
        for (uint32_t i = 0; i < core->root_count; i++)
            roots[i] = core->roots[i];
        platform_release(core->roots, core->root_capacity * sizeof *roots);
        core->roots = roots;
        core->root_capacity = capacity;
    }
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
    }
    stack->plane = core->plane;
}

void core_resume(struct core *core, struct thread *thread)
{
    move_to_plane(core, thread->stack, thread->hot);
    core_keep_room(core, thread);
}

/* ---- which stack ---- */

static void load_stack(struct core *core, struct thread *thread, struct stack *stack)
{
    struct hot *hot = thread->hot;

    thread->stack = stack;
    hot->current = stack->saved.current;
    hot->top = stack->saved.top;
    hot->limit = stack->limit;
    hot->pending_site = stack->saved.pending_site;
    hot->reach = STACK_FIRST_REACH;
    move_to_plane(core, stack, hot);
    python_stack_loaded(core, thread);
    core_keep_room(core, thread);
}

static void save_stack(struct core *core, struct thread *thread)
{
    struct stack *stack = thread->stack;

    stack->saved.current = thread->hot->current;
    stack->saved.top = thread->hot->top;
    stack->saved.pending_site = thread->hot->pending_site;
    suspended_insert(core, stack);
}

/* A handler's stack that control has left for another is over, and so are the handlers that it
 * interrupted in turn, down to the stack that goes on. */
static void switch_to(struct core *core, struct thread *thread, struct stack *stack)
{
    struct stack *left = thread->stack;

    if (left->for_signal) {
        while (left != stack && left->for_signal) {
            struct stack *interrupted = left->interrupted;
            if (left->suspended)
                suspended_remove(core, left);
            stack_release(core, left);
            left = interrupted;
        }
    } else {
        save_stack(core, thread);
    }
    if (stack->suspended)
        suspended_remove(core, stack);
    load_stack(core, thread, stack);
    core->repairs[REPAIR_STACK_SWITCH]++;
}

/* The stack that sp lies on: of those in the same mapping, the one whose bottom is nearest above.
 * NULL if there is none, and where another thread runs on it: then it only seems so, because the
 * true one is new. */
static struct stack *owner_of(struct core *core, const struct thread *thread, uint64_t sp)
{
    struct stack *owner = NULL;
    uint64_t start, end;

    if (!platform_find_mapping(sp, &start, &end))
        return NULL;
    for (struct stack *stack = core->stacks; stack; stack = stack->next)
        if (stack->mapping_end == end && !stack->start_unknown &&
            stack->base->stack_pointer >= sp &&
            (!owner || stack->base->stack_pointer < owner->base->stack_pointer))
            owner = stack;
    return owner && (owner->suspended || owner == thread->stack) ? owner : NULL;
}

static void start_new_stack(struct core *core, struct thread *thread, uint64_t sp)
{
    struct context *root = root_in_plane(core, thread, core->plane);

    /* Room for the return address that a started function finds above its frame, and for what
     * the program's own start-up code pops. */
    switch_to(core, thread, stack_new(core, root, sp + 64));
    core->repairs[REPAIR_STACK_SWITCH]--;
    core->repairs[REPAIR_NEW_STACK]++;
}

/* ---- stacks within stacks, and stacks that move ---- */

/* A program may set its stack pointer to another stack and call there, as Go does for its
 * scheduler: those calls lie on top of the entries of the stack it left, and the way back is to
 * an entry below them. So many of the newest are looked at. */
#define LOOK_BELOW 256

/* The newest entry that says exactly this; NULL if none does. */
static struct stack_entry *find_below(const struct thread *thread, uint64_t target, uint64_t sp)
{
    struct stack_entry *entry = thread->hot->top;

    for (unsigned seen = 0; --entry > thread->stack->base && seen < LOOK_BELOW; seen++)
        if (says(entry, target, sp))
            return entry;
    return NULL;
}

static bool reads_as(uint64_t address, uint64_t expected)
{
    uint64_t word;

    return platform_read(address, &word, sizeof word) && word == expected;
}

/* Does the return address lie `distance` further in the frame of the function that was called? At
 * its start where calls push it, anywhere where the function stores it. */
static bool lies_in_frame(const struct stack_entry *entry, uint64_t distance)
{
    enum { MOST = 512 };
    uint64_t lowest = entry[1].stack_pointer - 16;

    for (uint64_t i = 1; i < MOST && entry->stack_pointer - 8 * i >= lowest; i++)
        if (reads_as(entry->stack_pointer + distance - 8 * i, entry->return_address))
            return true;
    return false;
}

/* Do the calls up to `newest` lie, in the same words, `distance` further? The return address of
 * the newest was taken already; where there is no other, the word above it must be the same and
 * point to code. */
static bool is_copied(struct core *core, const struct stack *stack,
                      const struct stack_entry *newest, uint64_t distance)
{
    enum { ENOUGH = 64 };
    unsigned seen = 0;

    for (const struct stack_entry *entry = newest - 1; entry > stack->base && seen < ENOUGH;
         entry--) {
        /* A function that has no frame yet has its return address in a register, if not pushed. */
        if (entry->stack_pointer == newest->stack_pointer)
            continue;
        if (!lies_in_frame(entry, distance))
            return false;
        seen++;
    }
    uint64_t word;
    return seen || (platform_read(newest->stack_pointer, &word, sizeof word) &&
                    reads_as(newest->stack_pointer + distance, word) &&
                    code_map_find(&core->code, word).module);
}

/* The entry of `stack`, which ends at `top`, that says this but for the stack pointer, because all
 * of the stack up to it was copied to another place; NULL if none. */
static struct stack_entry *find_copied(struct core *core, const struct stack *stack,
                                       struct stack_entry *top, uint64_t target, uint64_t sp)
{
    struct stack_entry *entry = top;

    for (unsigned seen = 0; --entry > stack->base && seen < LOOK_BELOW; seen++)
        if (entry->return_address == target &&
            is_copied(core, stack, entry, sp - entry->stack_pointer))
            return entry;
    return NULL;
}

static void move_stack(struct stack *stack, const struct stack_entry *newest, uint64_t sp)
{
    uint64_t distance = sp - newest->stack_pointer;

    for (struct stack_entry *entry = stack->base; entry <= newest; entry++)
        entry->stack_pointer += distance;
    note_mapping(stack, sp);
}

/* Go copies the stack of a goroutine that has become too small, and goes on in the copy, where the
 * last call would have returned to. Such a stack gets its new place and is the running one; the
 * result is its entry to return to, NULL where nothing moved. */
static struct stack_entry *follow_moved(struct core *core, struct thread *thread, uint64_t target,
                                        uint64_t sp)
{
    struct stack_entry *entry = find_copied(core, thread->stack, thread->hot->top, target, sp);

    if (entry) {
        move_stack(thread->stack, entry, sp);
        return entry;
    }
    for (struct stack *stack = core->stacks; stack; stack = stack->next) {
        if (!stack->suspended || stack->for_signal)
            continue;
        entry = find_copied(core, stack, stack->saved.top, target, sp);
        if (!entry)
            continue;
        ptrdiff_t place = entry - stack->base;
        suspended_remove(core, stack);
        move_stack(stack, entry, sp);
        switch_to(core, thread, stack);       /* may give the entries more room, elsewhere */
        core->repairs[REPAIR_STACK_SWITCH]--; /* counted by the caller */
        return stack->base + place;
    }
    return NULL;
}

/* A goroutine goes on on another thread than the one that it was left on, whose scheduler is still
 * called from it: the part of that thread's stack that is the goroutine's, moved if it has.
 * NULL: there is none. */
static struct stack *take_over(struct core *core, const struct thread *thread, uint64_t target,
                               uint64_t sp, bool moved)
{
    for (struct thread *other = core->threads; other; other = other->next) {
        if (other == thread || other->ended)
            continue;
        struct stack_entry *point = switch_point(other->stack, other->hot->top);
        struct stack_entry *newest = NULL;
        if (point && !moved && says(point - 1, target, sp))
            newest = point - 1;
        else if (point && moved)
            newest = find_copied(core, other->stack, point, target, sp);
        if (!newest)
            continue;
        size_t count = newest + 1 - other->stack->base;
        struct stack *part =
            stack_new(core, other->stack->base->context, other->stack->base->stack_pointer);
        stack_reserve(part, count + 1);
        for (size_t i = 0; i < count; i++)
            part->base[i] = other->stack->base[i];
        part->saved.top = part->base + count;
        part->saved.current = newest->context;
        part->plane = other->stack->plane;
        move_stack(part, part->saved.top - 1, sp);
        newest->return_address = 0; /* the scheduler will not return there */
        return part;
    }
    return NULL;
}

/* ---- events ---- */

/* The oldest entry that sp has left; top if none. The bottom entry stays. Calls that were made on a
 * scheduler's stack above this one are left when sp is back. */
static struct stack_entry *oldest_left(const struct thread *thread, uint64_t sp)
{
    struct stack_entry *entry = thread->hot->top;
    uint64_t bottom = thread->stack->base->stack_pointer;

    if (sp < bottom && entry[-1].stack_pointer > bottom) {
        struct stack_entry *point = switch_point(thread->stack, entry);
        if (point && point->stack_pointer > bottom)
            entry = point;
    }
    while (entry - 1 > thread->stack->base && entry[-1].stack_pointer <= sp)
        entry--;
    return entry;
}

static void pop_to(struct core *core, struct thread *thread, struct stack_entry *entry)
{
    struct hot *hot = thread->hot;

    if (entry == hot->top)
        return;
    hot->current = entry->context;
    hot->top = entry;
    hot->pending_site = 0;
    (void)core;
}

static bool continue_others(struct core *core, struct thread *thread, uint64_t target, uint64_t sp,
                            bool moved)
{
    struct stack *taken = take_over(core, thread, target, sp, moved);

    if (!taken)
        return false;
    switch_to(core, thread, taken);
    pop_to(core, thread, thread->hot->top - 1);
    return true;
}

/* Where the stack pointer rose above the bottom of the running stack, it was put too low. */
static void raise_bottom(struct thread *thread, uint64_t sp)
{
    if (thread->stack->base->stack_pointer <= sp)
        thread->stack->base->stack_pointer = sp + 8;
}

/* Did control start a function on fresh stack, rather than unwind to or jump within this one?
 * Unwinding lands in mid-function; a jump to a function leaves the stack pointer where a frame
 * ended (retpolines, hand-made dispatch) or near where it was. */
static bool starts_on_fresh_stack(struct core *core, const struct thread *thread, uint64_t target,
                                  uint64_t sp, const struct stack_entry *left)
{
    const struct hot *hot = thread->hot;

    if (!code_map_is_entry(&core->code, target))
        return false;
    /* From a scheduler's stack above this one. */
    if (hot->top[-1].stack_pointer > thread->stack->base->stack_pointer)
        return true;
    if (left < hot->top)
        return sp > left->stack_pointer + 16;
    return hot->top[-1].stack_pointer - sp > STACK_FIRST_REACH &&
           hot->top - 1 > thread->stack->base;
}

/* Explanations 1 to 7 of the head comment. True if entries or stacks changed. */
static bool resync(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    struct hot *hot = thread->hot;

    if (thread->stack->start_unknown) {
        thread->stack->start_unknown = false;
        thread->stack->base->stack_pointer = sp + 8;
        note_mapping(thread->stack, sp);
        return true;
    }
    struct stack_entry *left = oldest_left(thread, sp);
    for (struct stack_entry *entry = left; entry < hot->top && entry->stack_pointer == sp; entry++)
        if (entry->return_address == target) {
            if (hot->top - entry > 1)
                core->repairs[REPAIR_UNWIND]++;
            pop_to(core, thread, entry);
            return true;
        }
    const struct stack_entry *newest;
    struct stack *other = suspended_find(core, target, sp, &newest);
    if (other) {
        ptrdiff_t place = newest - other->base;
        switch_to(core, thread, other); /* may give the entries more room, elsewhere */
        pop_to(core, thread, other->base + place);
        return true;
    }
    if (continue_others(core, thread, target, sp, false))
        return true;
    struct stack_entry *below = find_below(thread, target, sp);
    if (!below)
        below = follow_moved(core, thread, target, sp);
    if (below) {
        core->repairs[REPAIR_STACK_SWITCH]++;
        pop_to(core, thread, below);
        return true;
    }
    if (continue_others(core, thread, target, sp, true))
        return true;
    other = owner_of(core, thread, sp);
    if (!other && owner_of(core, thread, thread->stack->base->stack_pointer - 8) == thread->stack &&
        sp >= thread->stack->base->stack_pointer) {
        uint64_t start, end;
        if (platform_find_mapping(sp, &start, &end) && end == thread->stack->mapping_end)
            other = thread->stack;
    }
    if (!other || (other != thread->stack && code_map_is_entry(&core->code, target)) ||
        (other == thread->stack && starts_on_fresh_stack(core, thread, target, sp, left))) {
        start_new_stack(core, thread, sp);
        return true;
    }
    bool switched = other != thread->stack;
    if (switched) {
        switch_to(core, thread, other);
        left = oldest_left(thread, sp);
    }
    raise_bottom(thread, sp);
    if (left == hot->top)
        return switched;
    core->repairs[REPAIR_UNWIND]++;
    pop_to(core, thread, left);
    return true;
}

/* Does the return go where the newest entry says, but not end at its caller's frame? Below it, when
 * what was called has moved its return address down, to put arguments above it or to align the
 * stack, and leaves them there: adapters between an interpreter and compiled code, helpers that set
 * up their caller's frame. Above it, when it took its arguments off the stack. */
static bool returns_elsewhere(const struct thread *thread, uint64_t target, uint64_t sp)
{
    const struct stack_entry *entry = &thread->hot->top[-1];

    if (entry <= thread->stack->base || entry->return_address != target)
        return false;
    if (sp < entry->stack_pointer)
        return entry->stack_pointer - sp <= STACK_FIRST_REACH;
    return sp < entry[-1].stack_pointer && sp - entry->stack_pointer <= STACK_FIRST_REACH;
}

void core_return(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    if (returns_elsewhere(thread, target, sp)) {
        pop_to(core, thread, thread->hot->top - 1);
        return;
    }
    if (resync(core, thread, target, sp))
        return;
    const struct context *current = thread->hot->current;
    struct code_place place = code_map_find(&core->code, target);
    /* The bottom frame of a stack returns to whoever set the stack up, and a handler to the
     * signal trampoline: jumps to code that goes on from there. */
    bool bottom = !current->parent || current->parent->function->flags & CODE_FUNCTION_MARKER;
    if (bottom)
        return;
    bool stays = place.function ? place.function == current->code
                                : (current->code->flags & CODE_FUNCTION_ANONYMOUS) != 0;
    if (stays || place.plt || code_map_is_entry(&core->code, target))
        core->repairs[REPAIR_RETURN_AS_JUMP]++;
    else
        core->repairs[REPAIR_UNMATCHED_RETURN]++;
}

void core_jump(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    struct hot *hot = thread->hot;

    if (resync(core, thread, target, sp))
        return;
    /* A large frame: from now on stack pointers as low as this one are nothing special. */
    uint64_t depth = hot->top[-1].stack_pointer - 8 - sp;
    if (depth > hot->reach && depth < (uint64_t)1 << 40)
        hot->reach = 2 * depth;
}

static void enter(struct thread *thread, struct context *child)
{
    thread->hot->current = child;
    child->calls++;
}

/* From a Python frame the evaluator jumps to a part of itself that no symbol says is one, and back;
 * rarely for good. Either way it is shown below the Python frame. */
static bool tail_call_from_python(struct core *core, struct thread *thread,
                                  struct code_function *function)
{
    struct context *current = thread->hot->current;
    struct context *python = current->flags & CONTEXT_TAIL ? current->parent : current;

    if (!(python->function->flags & CODE_FUNCTION_PYTHON))
        return false;
    if (python->code == function) {
        thread->hot->current = python;
        python_look(core, thread);
        return true;
    }
    struct context *child = tree_child_of(&core->tree, python, 0, function);
    child->flags |= CONTEXT_TAIL;
    enter(thread, child);
    return true;
}

/* Another function runs in the frame of the current one. */
static void tail_call(struct core *core, struct thread *thread, struct code_function *function)
{
    struct context *current = thread->hot->current;

    if (tail_call_from_python(core, thread, function))
        return;
    if (!core->options.keep_tail_calls) {
        enter(thread, tree_in_place_of(&core->tree, current, function));
        return;
    }
    /* Functions that tail-call each other in turn go back up their chain: it stays finite. */
    for (struct context *above = current;; above = above->parent) {
        if (above->function == function) {
            enter(thread, above);
            return;
        }
        if (!(above->flags & CONTEXT_TAIL))
            break;
    }
    struct context *child = tree_child_of(&core->tree, current, 0, function);
    child->flags |= CONTEXT_TAIL;
    enter(thread, child);
}

/* Slots are caches, and this child of theirs is out of date. */
static void forget_child(struct context *parent, const struct context *child)
{
    for (unsigned i = 0; parent && i < CONTEXT_SLOTS; i++)
        if (parent->slots[i].child == child)
            parent->slots[i] = (struct context_slot){0};
}

/* Code that the program makes was given another name, and the current context is still that of the
 * old one: it was entered just now by a way that had been remembered, or it runs on under the name
 * that it was given in the meantime. True: current is right now, and nothing was called. */
static bool renamed(struct core *core, struct thread *thread, struct code_function *function,
                    uint64_t address)
{
    struct context *current = thread->hot->current;
    const struct code_function *old = current->function;
    bool gone = old->flags & CODE_FUNCTION_GONE && current->entry == address && current->calls;

    if (gone) {
        current->calls--;
        forget_child(current->parent, current);
        struct context *now = tree_in_place_of(&core->tree, current, function);
        now->entry = address;
        enter(thread, now);
        return true;
    }
    if (!(old->flags & CODE_FUNCTION_ANONYMOUS) || !(function->flags & CODE_FUNCTION_JIT) ||
        old->start < function->start || old->start >= function->end)
        return false;
    thread->hot->current = tree_in_place_of(&core->tree, current, function);
    return true;
}

void core_mismatch(struct core *core, struct thread *thread, uint64_t address, uint64_t sp)
{
    struct hot *hot = thread->hot;

    if (hot->top[-1].stack_pointer - 8 - sp > hot->reach || thread->stack->start_unknown)
        core_jump(core, thread, address, sp);
    struct code_place place = code_map_find(&core->code, address);
    if (place.plt)
        return;
    struct code_function *function = place.function;
    if (!function) {
        const struct code_function *code = hot->current->code;
        if (code->flags & CODE_FUNCTION_ANONYMOUS &&
            (!(code->flags & CODE_FUNCTION_GONE) || hot->current->entry != address))
            return;
        function = code_map_called(&core->code, address);
    }
    if (hot->current->code == function && !hot->pending_site)
        return;
    if (hot->pending_site) {
        uint32_t site = hot->pending_site;
        hot->pending_site = 0;
        enter(thread, tree_child_of(&core->tree, hot->current, site, function));
    } else if (hot->current->code->flags & CODE_FUNCTION_MARKER) {
        enter(thread, tree_child_of(&core->tree, hot->current, 0, function));
    } else if (!renamed(core, thread, function, address)) {
        tail_call(core, thread, function);
    }
}

struct context *core_callee(struct core *core, struct thread *thread, uint32_t site,
                            uint64_t target)
{
    struct context *current = thread->hot->current;
    struct code_function *function = code_map_called(&core->code, target);

    if (!function) {
        thread->hot->pending_site = site;
        return NULL;
    }
    struct context *child = tree_child_of(&core->tree, current, site, function);
    child->entry = target;
    return child;
}

struct context *core_marker(struct core *core, struct thread *thread, uint32_t site,
                            const char *name)
{
    struct context *child =
        tree_child_of(&core->tree, thread->hot->current, site, code_map_marker(&core->code, name));

    child->calls++;
    return child;
}

/* ---- signals ---- */

void core_signal_in(struct core *core, struct thread *thread, unsigned number, uint64_t sp,
                    bool alternate)
{
    char name[32] = "(signal ";
    size_t length = 8 + text_from_number(name + 8, number);
    struct hot *hot = thread->hot;

    name[length] = ')';
    name[length + 1] = '\0';
    struct context *signal = core_marker(core, thread, 0, name);
    if (alternate) {
        struct stack *interrupted = thread->stack;
        save_stack(core, thread);
        struct stack *stack = stack_new(core, signal, 0);
        stack->for_signal = true;
        stack->interrupted = interrupted;
        load_stack(core, thread, stack);
        return;
    }
    core_push(core, thread, STACK_SIGNAL_MARK | hot->pending_site, sp);
    hot->pending_site = 0;
    hot->current = signal;
}

/* Takes the handler off; what it interrupted is current again. */
static void end_handler(struct core *core, struct thread *thread)
{
    struct hot *hot = thread->hot;
    struct stack *stack = thread->stack;

    for (struct stack_entry *entry = hot->top; entry-- > stack->base;)
        if (entry->return_address & STACK_SIGNAL_MARK) {
            pop_to(core, thread, entry);
            hot->pending_site = entry->return_address & ~STACK_SIGNAL_MARK;
            return;
        }
    if (!stack->for_signal)
        return;
    struct stack *interrupted = stack->interrupted;
    stack_release(core, stack);
    suspended_remove(core, interrupted);
    load_stack(core, thread, interrupted);
}

void core_called_by_handler(struct core *core, struct thread *thread, uint64_t pc, uint64_t back,
                            uint64_t sp)
{
    const struct stack_entry *newest = thread->hot->top - 1;

    if (!code_map_is_entry(&core->code, pc))
        return;
    struct code_function *function = code_map_find(&core->code, back).function;
    bool was_called = newest->return_address == back && newest->stack_pointer == sp;
    if (!function || function != thread->hot->current->code || was_called)
        return;
    core_push(core, thread, back, sp);
    enter(thread,
          tree_child_of(&core->tree, thread->hot->current, 0, code_map_called(&core->code, pc)));
}

void core_signal_out(struct core *core, struct thread *thread, uint64_t pc, uint64_t sp)
{
    uint64_t back;

    end_handler(core, thread);
    if (sp && platform_read(sp, &back, sizeof back))
        core_called_by_handler(core, thread, pc, back, sp + 8);
}

/* ---- threads ---- */

struct thread *core_thread_new(struct core *core, uint64_t stack_pointer)
{
    struct thread *thread = platform_allocate(sizeof *thread);

    thread->number = ++core->thread_count;
    thread->hot = &thread->own;
    thread->next = core->threads;
    core->threads = thread;
    load_stack(core, thread,
               stack_new(core, root_in_plane(core, thread, core->plane), stack_pointer + 8));
    return thread;
}

void core_thread_end(struct core *core, struct thread *thread)
{
    thread->ended = true;
    stack_release(core, thread->stack);
    thread->stack = NULL;
}

/* The other threads' stacks are gone, though their memory is still there. Stacks of coroutines
 * stay: any of them may be resumed by the thread that goes on. */
void core_forked(struct core *core, struct thread *thread)
{
    for (struct thread *other = core->threads; other; other = other->next)
        if (other != thread && !other->ended)
            core_thread_end(core, other);
    for (uint32_t i = 0; i < core->part_count; i++)
        core->parts[i].dropped = true;
    for (uint32_t i = 0; i < core->root_count; i++)
        core->roots[i].plane = PLANE_INHERITED;
    for (struct stack *stack = core->stacks; stack; stack = stack->next)
        stack->plane = PLANE_INHERITED;
    for (unsigned i = 0; i < REPAIR_KINDS; i++)
        core->repairs[i] = 0;
    jit_forked(&core->jit);
    core_zero(core);
    core_resume(core, thread);
}

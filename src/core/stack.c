/*
 * stack.c: what happens when an event is not an ordinary call or return.
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
 * Order of explanation, first that fits (a return from a function that swaps stacks, and one to where
 * the newest entry says, a little below its sp, come before all others):
 *   1. an entry that was left has this target and this sp: a return, over one or many frames; or
 *      a function starts, and its return address is that entry's, put higher: a tail call that
 *      has taken arguments off the stack, and not left the frame
 *   2. a suspended stack's newest entry has: the program came back to that stack; its newest but
 *      for calls that were made on a scheduler's stack (stack_switch_point); such a part of the
 * stack of another thread is taken from there
 *   3. an entry below others that were not left has: calls were made on a stack within this one;
 *      or it has but for sp, and the stack's other words lie around sp: the program has moved it;
 *      or frame pointers say whose stack it is, and from which calls
 *   4. sp lies on another stack that is known: went there some other way (longjmp between stacks)
 *   5. sp lies on no stack that is known, but the calls of one that waited lie above: it was moved
 *      there. Where they do not, or control starts a function where no frame's end is: a new stack
 *   6. entries were left: an unwind
 *   7. nothing happened to the stack: a jump
 *
 * What it gets wrong:
 *   - Stacks that lie side by side in one mapping, among other memory, as those of Erlang's processes do
 *     in their heaps: nothing says where one ends. A process that goes on at an address below the
 *     bottom of one that is known passes for that one, and its returns match nothing: some fifty
 *     in a program of fifty processes.
 */
#include "core/stack.h"
#include "core/platform.h"
#include "core/text.h"

const char *const repair_names[REPAIR_KINDS] = {
    [REPAIR_UNWIND] = "unwind",
    [REPAIR_STACK_SWITCH] = "stack-switch",
    [REPAIR_NEW_STACK] = "new-stack",
    [REPAIR_RETURN_AS_JUMP] = "return-as-jump",
    [REPAIR_UNMATCHED_RETURN] = "unmatched-return",
    [REPAIR_PYTHON] = "python-resync",
};

/* ---- events ---- */

/* The oldest entry that sp has left; top if none. The bottom entry stays. Calls that were made on a
 * scheduler's stack above this one are left when sp is back. */
static struct stack_entry *oldest_left(const struct thread *thread, uint64_t sp)
{
    struct stack_entry *entry = thread->hot->top;
    uint64_t bottom = thread->stack->base->stack_pointer;

    if (sp < bottom && entry[-1].stack_pointer > bottom) {
        struct stack_entry *point = stack_switch_point(thread->stack, entry);
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

static bool continue_suspended(struct core *core, struct thread *thread, uint64_t target,
                               uint64_t sp, bool surely)
{
    const struct stack_entry *newest;
    struct stack *other = stack_find_suspended(core, target, sp, surely, &newest);

    if (!other)
        return false;
    ptrdiff_t place = newest - other->base;
    stack_switch_to(core, thread, other); /* may give the entries more room, elsewhere */
    pop_to(core, thread, other->base + place);
    return true;
}

static bool continue_others(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    struct stack *taken = stack_take_over(core, thread, target, sp);

    if (!taken)
        return false;
    stack_switch_to(core, thread, taken);
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
    /* A stack that is left to be gone on with later has its newest return address. */
    if (left < hot->top)
        return sp > left->stack_pointer + 16 &&
               stack_will_return(core, &hot->top[-1], hot->top[-1].stack_pointer - 8);
    return hot->top[-1].stack_pointer - sp > STACK_FIRST_REACH &&
           hot->top - 1 > thread->stack->base;
}

/* Has what was called put its return address higher, into the frame that its caller has made for it,
 * and taken it off the stack? SBCL's functions do. Then the frame ends there. */
static bool has_moved_return(struct core *core, struct stack_entry *call, uint64_t sp)
{
    uint64_t place;

    if (!stack_find_moved_return(core, call, sp, &place))
        return false;
    call->stack_pointer = place + 8;
    return true;
}

/* Is sp neither in a frame of the running stack nor near the newest? Nor in one that was made on a
 * scheduler's stack. */
static bool is_elsewhere(const struct thread *thread, uint64_t sp)
{
    uint64_t newest = thread->hot->top[-1].stack_pointer, lowest = newest - STACK_FIRST_REACH;
    const struct stack_entry *point = stack_switch_point(thread->stack, thread->hot->top);

    if (point && sp >= lowest && sp <= point->stack_pointer)
        return false;
    return sp < (point ? point[-1].stack_pointer : lowest) ||
           sp >= thread->stack->base->stack_pointer;
}

/* Explanations 1 to 7 of the head comment. True if entries or stacks changed. */
static bool resync(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    struct hot *hot = thread->hot;

    if (thread->stack->start_unknown) {
        thread->stack->start_unknown = false;
        thread->stack->base->stack_pointer = sp + 8;
        stack_note_mapping(thread->stack, sp);
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
    /* What was called took arguments of its caller's off the stack, put its return address above
     * them and jumped, as f.call(a) does in V8: the frame ends higher than it did. */
    if (left < hot->top && stack_has_on_top(core, sp, left->return_address)) {
        if (hot->top - left > 1)
            core->repairs[REPAIR_UNWIND]++;
        pop_to(core, thread, left + 1);
        left->stack_pointer = sp + 8;
        return true;
    }
    if (continue_suspended(core, thread, target, sp, true))
        return true;
    if (continue_others(core, thread, target, sp))
        return true;
    struct stack_entry *below = stack_find_below(thread, target, sp);
    if (!below)
        below = stack_follow_grown(core, thread, target, sp);
    if (!below && is_elsewhere(thread, sp) && !code_map_is_entry(&core->code, target) &&
        stack_rebuild(core, thread, target, sp))
        return true;
    if (!below)
        below = stack_follow_moved(core, thread, target, sp);
    if (below) {
        core->repairs[REPAIR_STACK_SWITCH]++;
        pop_to(core, thread, below);
        return true;
    }
    if (continue_suspended(core, thread, target, sp, false))
        return true;
    struct stack *other = stack_owner_of(core, thread, sp);
    if (!other && !code_map_is_entry(&core->code, target) && stack_resume_moved(core, thread, sp))
        return true;
    if (!other &&
        stack_owner_of(core, thread, thread->stack->base->stack_pointer - 8) == thread->stack &&
        sp >= thread->stack->base->stack_pointer) {
        uint64_t start, end;
        if (platform_find_mapping(sp, &start, &end) && stack_is_in(thread->stack, start, end))
            other = thread->stack;
    }
    if (!other || (other != thread->stack && code_map_is_entry(&core->code, target)) ||
        (other == thread->stack && starts_on_fresh_stack(core, thread, target, sp, left))) {
        stack_start_new(core, thread, sp);
        return true;
    }
    bool switched = other != thread->stack;
    if (switched) {
        stack_switch_to(core, thread, other);
        left = oldest_left(thread, sp);
    }
    raise_bottom(thread, sp);
    if (left == hot->top)
        return switched;
    if (left == hot->top - 1 && has_moved_return(core, left, sp))
        return true;
    core->repairs[REPAIR_UNWIND]++;
    pop_to(core, thread, left);
    thread->landed = hot->current->code;
    thread->landed_top = hot->top;
    return true;
}

/* Does the return go where the newest entry says, but not end at its caller's frame? Below it, when
 * what was called has moved its return address down, to put arguments above it or to align the
 * stack, and leaves them there: adapters between an interpreter and compiled code, helpers that set
 * up their caller's frame. Above it, when it took its arguments off the stack. */
static bool returns_elsewhere(struct core *core, const struct thread *thread, uint64_t target,
                              uint64_t sp)
{
    struct stack_entry *entry = &thread->hot->top[-1];

    if (entry <= thread->stack->base || entry->return_address != target)
        return false;
    if (sp < entry->stack_pointer)
        return entry->stack_pointer - sp <= STACK_FIRST_REACH;
    if (sp - entry->stack_pointer > STACK_FIRST_REACH)
        return false;
    /* The caller's own frame may end higher by now. */
    return sp < entry[-1].stack_pointer ||
           (entry - 1 > thread->stack->base && !stack_entry_says(&entry[-1], target, sp) &&
            has_moved_return(core, &entry[-1], sp));
}

/* A return leads to another function, and the return address of the newest call is nowhere above: the
 * frame that it was made in was replaced by another, which goes on there. V8 and OpenJDK do this to
 * compiled code that they give up. */
static bool leave_overwritten(struct core *core, struct thread *thread, uint64_t target,
                              uint64_t sp)
{
    struct stack_entry *newest = thread->hot->top - 1;
    bool moves = code_map_is_entry(&core->code, target) ||
                 code_map_find(&core->code, target).function != thread->hot->current->code;

    if (newest == thread->stack->base || !moves || stack_will_return(core, newest, sp))
        return false;
    core->repairs[REPAIR_UNWIND]++;
    pop_to(core, thread, newest);
    return true;
}

void core_return(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    if (stack_return_from_swapper(core, thread, target, sp))
        return;
    if (returns_elsewhere(core, thread, target, sp)) {
        pop_to(core, thread, thread->hot->top - 1);
        return;
    }
    if (resync(core, thread, target, sp))
        return;
    bool replaced = leave_overwritten(core, thread, target, sp);
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
    else if (!replaced)
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

/* A jump that is a call, because the address to return to was pushed before it. The frame goes on as
 * that of the function which has the address: it was so before, or is now, without being called. */
static bool call_by_jump(struct core *core, struct thread *thread, struct code_function *function,
                         uint64_t address, uint64_t sp)
{
    struct hot *hot = thread->hot;
    uint64_t back;
    struct code_function *caller = stack_pushed_caller(core, thread, address, sp, &back);

    if (!caller)
        return false;
    if (hot->current->code != caller && core->options.keep_tail_calls)
        tail_call(core, thread, caller);
    else if (hot->current->code != caller)
        hot->current = tree_in_place_of(&core->tree, hot->current, caller);
    core_push(core, thread, back, sp + 8);
    enter(thread, tree_child_of(&core->tree, hot->current, 0, function));
    return true;
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
        if (current->parent)
            tree_forget_child(&core->tree, current->parent, current);
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

/* Does control come there from where a function can only have been called, through a PLT or by a tail
 * call from another module? Then one begins there, whatever was thought of that code. */
static bool is_called(const struct hot *hot, const struct code_function *function)
{
    const struct code_module *from = hot->current->code->module;

    return hot->pending_site || (from->kind == CODE_FILE && from != function->module);
}

void core_mismatch(struct core *core, struct thread *thread, uint64_t address, uint64_t sp)
{
    struct hot *hot = thread->hot;
    const struct context *before = hot->current;

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
    } else if (hot->current == before && is_called(hot, function)) {
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
    } else if (!renamed(core, thread, function, address) &&
               !tail_call_from_python(core, thread, function) &&
               !call_by_jump(core, thread, function, address, sp)) {
        tail_call(core, thread, function);
    }
}

struct context *core_callee_of(struct core *core, struct thread *thread, uint32_t site,
                               struct code_function *function, uint64_t target)
{
    struct context *child = tree_child_of(&core->tree, thread->hot->current, site, function);

    child->entry = target;
    return child;
}

struct context *core_callee(struct core *core, struct thread *thread, uint32_t site,
                            uint64_t target)
{
    struct code_function *function = code_map_called(&core->code, target);

    if (!function) {
        thread->hot->pending_site = site;
        return NULL;
    }
    return core_callee_of(core, thread, site, function, target);
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
        stack_save(core, thread);
        struct stack *stack = stack_new(core, signal, 0);
        stack->for_signal = true;
        stack->interrupted = interrupted;
        stack_load(core, thread, stack);
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
    stack_unsuspend(core, interrupted);
    stack_load(core, thread, interrupted);
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

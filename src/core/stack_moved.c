/*
 * stack_moved.c: programs that keep stacks of their own, as Go does: calls made on a stack within a
 * stack, stacks that are copied to another place, stacks that go on on another thread.
 */
#include "core/stack.h"
#include "core/platform.h"

/* ---- stacks within stacks, and stacks that move ---- */

/* A program may set its stack pointer to another stack and call there, as Go does for its
 * scheduler: those calls lie on top of the entries of the stack it left, and the way back is to
 * an entry below them. So many of the newest are looked at. */
#define LOOK_BELOW 256

/* The newest entry that says exactly this; NULL if none does. */
struct stack_entry *stack_find_below(const struct thread *thread, uint64_t target, uint64_t sp)
{
    struct stack_entry *entry = thread->hot->top;

    for (unsigned seen = 0; --entry > thread->stack->base && seen < LOOK_BELOW; seen++)
        if (stack_entry_says(entry, target, sp))
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
    stack_note_mapping(stack, sp);
}

/* Go copies the stack of a goroutine that has become too small, and goes on in the copy, where the
 * last call would have returned to. Such a stack gets its new place and is the running one; the
 * result is its entry to return to, NULL where nothing moved. */
struct stack_entry *stack_follow_moved(struct core *core, struct thread *thread, uint64_t target,
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
        stack_unsuspend(core, stack);
        move_stack(stack, entry, sp);
        stack_switch_to(core, thread, stack); /* may give the entries more room, elsewhere */
        core->repairs[REPAIR_STACK_SWITCH]--; /* counted by the caller */
        return stack->base + place;
    }
    return NULL;
}

/* A goroutine goes on on another thread than the one that it was left on, whose scheduler is still
 * called from it: the part of that thread's stack that is the goroutine's, moved if it has.
 * NULL: there is none. */
struct stack *stack_take_over(struct core *core, const struct thread *thread, uint64_t target,
                              uint64_t sp, bool moved)
{
    for (struct thread *other = core->threads; other; other = other->next) {
        if (other == thread || other->ended)
            continue;
        struct stack_entry *point = stack_switch_point(other->stack, other->hot->top);
        struct stack_entry *newest = NULL;
        if (point && !moved && stack_entry_says(point - 1, target, sp))
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

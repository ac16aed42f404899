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

/* Calls that are compared, where stacks move and where nothing says that they do. */
enum { ENOUGH = 64, FEW = 4 };

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

/* Do the calls before `newest` lie `distance` further? How many were looked at, of `most`; -1 if not. */
static int calls_found(const struct stack *stack, const struct stack_entry *newest, int most,
                       uint64_t distance)
{
    int seen = 0;

    for (const struct stack_entry *entry = newest - 1; entry > stack->base && seen < most;
         entry--) {
        /* A function that has no frame yet has its return address in a register, if not pushed. */
        if (entry->stack_pointer == newest->stack_pointer)
            continue;
        if (!lies_in_frame(entry, distance))
            return -1;
        seen++;
    }
    return seen;
}

bool stack_lies_there(const struct core *core, const struct stack *stack,
                      const struct stack_entry *newest)
{
    if (!core->options.calls_push && !core->stacks_move)
        return true; /* return addresses may be in registers */
    return calls_found(stack, newest, core->stacks_move ? ENOUGH : FEW, 0) >= 0;
}

/* Do the calls up to `newest` lie, in the same words, `distance` further? The return address of
 * the newest was taken already; where there is no other, the word above it must be the same and
 * point to code. */
static bool is_copied(struct core *core, const struct stack *stack,
                      const struct stack_entry *newest, uint64_t distance)
{
    int seen = calls_found(stack, newest, ENOUGH, distance);
    uint64_t word;

    return seen > 0 || (seen == 0 && platform_read(newest->stack_pointer, &word, sizeof word) &&
                        reads_as(newest->stack_pointer + distance, word) &&
                        code_map_find(&core->code, word).module);
}

/* How many of the words above the newest call are others `distance` further, but for addresses within
 * the stack, which are moved with it; of COMPARED, the first ones. */
enum { COMPARED = 64, CHANGED_WHILE_WAITING = 4 };

static unsigned words_changed(const struct stack *stack, const struct stack_entry *newest,
                              uint64_t distance)
{
    uint64_t before[COMPARED], after[COMPARED];
    uint64_t count = (stack->base->stack_pointer - newest->stack_pointer) / sizeof *before;
    unsigned changed = 0;

    if (count > COMPARED)
        count = COMPARED;
    if (!platform_read(newest->stack_pointer, before, count * sizeof *before) ||
        !platform_read(newest->stack_pointer + distance, after, count * sizeof *after))
        return COMPARED;
    for (unsigned i = 0; i < count; i++)
        changed += after[i] != before[i] && after[i] != before[i] + distance;
    return changed;
}

/* A stack that was copied to another place, and the entry to go on behind. Goroutines do the same at
 * many places, so that return addresses alone do not tell one from another. What else a stack has is
 * the same in its copy, as long as nobody has used the old memory again; and a stack whose memory
 * somebody has used again is no longer there. Else it may be another one that waits at the same place,
 * or one whose words are other ones by now, as after a collection of Erlang's. */
struct copied {
    struct stack *stack;
    struct stack_entry *entry;
    unsigned doubt;
};

/* `most`: of the newest before `top`. */
static void look_for_copy(struct core *core, struct stack *stack, struct stack_entry *top,
                          uint32_t most, uint64_t target, uint64_t sp, struct copied *best)
{
    struct stack_entry *entry = top;

    for (uint32_t seen = 0; --entry > stack->base && seen < most; seen++) {
        uint64_t distance = sp - entry->stack_pointer;
        if (entry->return_address != target || !is_copied(core, stack, entry, distance))
            continue;
        unsigned doubt = words_changed(stack, entry, distance);
        if (doubt > CHANGED_WHILE_WAITING && !stack->displaced && is_copied(core, stack, entry, 0))
            doubt += COMPARED;
        if (!best->entry || doubt < best->doubt)
            *best = (struct copied){stack, entry, doubt};
    }
}

void stack_displace_others(struct core *core, const struct stack *moved, uint64_t lowest)
{
    for (struct stack *stack = core->stacks; stack; stack = stack->next) {
        if (stack == moved || !stack->suspended || stack->for_signal)
            continue;
        const struct stack_entry *newest = stack->parked ? stack->parked : stack->saved.top - 1;
        uint64_t end = stack->base->stack_pointer - STACK_START_ROOM;
        if (newest->stack_pointer < moved->base->stack_pointer - STACK_START_ROOM && lowest < end)
            stack->displaced = true;
    }
}

static void move_stack(struct core *core, struct stack *stack, const struct stack_entry *newest,
                       uint64_t sp)
{
    uint64_t distance = sp - newest->stack_pointer;

    for (struct stack_entry *entry = stack->base; entry <= newest; entry++)
        entry->stack_pointer += distance;
    stack_note_mapping(stack, sp);
    stack->displaced = false;
    core->stacks_move |= distance != 0;
    stack_displace_others(core, stack, sp);
}

/* ---- stacks that go on on another thread ---- */

/* One past the highest entry that there ever was: they are written in order, and 0 before. */
static struct stack_entry *end_of_written(const struct stack *stack)
{
    struct stack_entry *low = stack->base, *high = stack->limit;

    while (low < high) {
        struct stack_entry *middle = low + (high - low) / 2;
        if (middle->stack_pointer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One past the newest entry of another thread's stack that can go on on this one: what was called on a
 * scheduler's stack cannot. Where its top is not known, all entries may; NULL for none. */
static struct stack_entry *end_of_running(const struct core *core, const struct thread *other)
{
    if (core->options.tops_are_late)
        return end_of_written(other->stack);
    return stack_switch_point(other->stack, other->hot->top);
}

/* A new stack that has another thread's entries up to `newest`, which is at `sp` now. */
static struct stack *take_part(struct core *core, const struct stack *running,
                               struct stack_entry *newest, uint64_t sp)
{
    size_t count = newest + 1 - running->base;
    struct stack *part = stack_new(core, running->base->context, running->base->stack_pointer);

    stack_reserve(part, count + 1);
    for (size_t i = 0; i < count; i++)
        part->base[i] = running->base[i];
    part->saved.top = part->base + count;
    part->saved.current = newest->context;
    part->plane = running->plane;
    move_stack(core, part, part->saved.top - 1, sp);
    newest->return_address = 0; /* the scheduler will not return there */
    return part;
}

/* The entry of another thread's stack that says exactly this. Where its top is not known, the entry may
 * have been popped since: the program's stack must have the return addresses of all those below. */
static struct stack_entry *find_running(struct core *core, const struct thread *other,
                                        uint64_t target, uint64_t sp)
{
    struct stack_entry *end = end_of_running(core, other);

    if (end && !core->options.tops_are_late)
        return stack_entry_says(end - 1, target, sp) &&
                       stack_lies_there(core, other->stack, end - 1)
                   ? end - 1
                   : NULL;
    for (struct stack_entry *entry = other->stack->base + 1; end && entry < end; entry++)
        if (stack_entry_says(entry, target, sp) && stack_lies_there(core, other->stack, entry))
            return entry;
    return NULL;
}

/* A goroutine goes on on another thread than the one that it was left on, whose scheduler is still
 * called from it: the part of that thread's stack that is the goroutine's. NULL: there is none. */
struct stack *stack_take_over(struct core *core, const struct thread *thread, uint64_t target,
                              uint64_t sp)
{
    for (struct thread *other = core->threads; other; other = other->next) {
        if (other == thread || other->ended)
            continue;
        struct stack_entry *newest = find_running(core, other, target, sp);
        if (newest)
            return take_part(core, other->stack, newest, sp);
    }
    return NULL;
}

/* Go copies the stack of a goroutine that has become too small, and goes on in the copy, where the
 * last call would have returned to. */
struct stack_entry *stack_follow_grown(struct core *core, struct thread *thread, uint64_t target,
                                       uint64_t sp)
{
    struct copied copied = {0};

    look_for_copy(core, thread->stack, thread->hot->top, LOOK_BELOW, target, sp, &copied);
    if (!copied.entry || copied.doubt > CHANGED_WHILE_WAITING)
        return NULL;
    move_stack(core, thread->stack, copied.entry, sp);
    return copied.entry;
}

/* The stack of one that waits is copied if it is too large. */
struct stack_entry *stack_follow_moved(struct core *core, struct thread *thread, uint64_t target,
                                       uint64_t sp)
{
    struct copied copied = {0};

    look_for_copy(core, thread->stack, thread->hot->top, LOOK_BELOW, target, sp, &copied);
    for (struct stack *stack = core->stacks; stack; stack = stack->next)
        if (stack->suspended && !stack->for_signal)
            look_for_copy(core, stack, stack->saved.top, LOOK_BELOW, target, sp, &copied);
    for (struct thread *other = core->threads; other; other = other->next) {
        struct stack_entry *end =
            other == thread || other->ended ? NULL : end_of_running(core, other);
        uint32_t most = core->options.tops_are_late ? UINT32_MAX : LOOK_BELOW;
        if (end)
            look_for_copy(core, other->stack, end, most, target, sp, &copied);
    }
    struct stack *stack = copied.stack;
    if (!stack)
        return NULL;
    ptrdiff_t place = copied.entry - stack->base;
    if (stack == thread->stack) {
        move_stack(core, stack, copied.entry, sp);
        return copied.entry;
    }
    if (stack->suspended) {
        stack_unsuspend(core, stack);
        move_stack(core, stack, copied.entry, sp);
    } else {
        stack = take_part(core, stack, copied.entry, sp);
    }
    stack_switch_to(core, thread, stack); /* may give the entries more room, elsewhere */
    core->repairs[REPAIR_STACK_SWITCH]--; /* counted by the caller */
    return stack->base + place;
}

/* ---- stacks that are gone on with by a jump ---- */

/* The place of the return address of the newest call, from the stack pointer on; 0 if it is not there. */
static uint64_t find_word(const uint64_t *words, size_t count, uint64_t sp, uint64_t word)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] == word)
            return sp + i * sizeof word;
    return 0;
}

/* Is the stack that waits the one above sp, elsewhere than where it was? */
static void look_for_resumed(struct stack *stack, const uint64_t *words, size_t count, uint64_t sp,
                             struct copied *best)
{
    struct stack_entry *newest = stack->parked ? stack->parked : stack->saved.top - 1;

    if (newest <= stack->base || newest->return_address & STACK_SIGNAL_MARK)
        return;
    uint64_t place = find_word(words, count, sp, newest->return_address);
    uint64_t distance = place + 8 - newest->stack_pointer;
    if (!place || !distance || calls_found(stack, newest, ENOUGH, distance) <= 0)
        return;
    unsigned doubt = words_changed(stack, newest, distance);
    if (!best->entry || doubt < best->doubt)
        *best = (struct copied){stack, newest, doubt};
}

/* A process of Erlang's that waited goes on where it was, in the middle of a function, by a jump. Its
 * stack is a part of its heap, which may have been moved. No return address says which one it is; but
 * those of its calls lie above. */
bool stack_resume_moved(struct core *core, struct thread *thread, uint64_t sp)
{
    enum { MOST_WORDS = 512 };
    uint64_t words[MOST_WORDS], start, end;
    struct copied copied = {0};

    if (!core->options.calls_push || !platform_find_mapping(sp, &start, &end))
        return false;
    size_t count =
        (end - sp) / sizeof *words < MOST_WORDS ? (end - sp) / sizeof *words : MOST_WORDS;
    if (!platform_read(sp, words, count * sizeof *words))
        return false;
    for (struct stack *stack = core->stacks; stack; stack = stack->next)
        if (stack->suspended && !stack->for_signal)
            look_for_resumed(stack, words, count, sp, &copied);
    if (!copied.entry)
        return false;
    struct stack *stack = copied.stack;
    ptrdiff_t place = copied.entry - stack->base;
    uint64_t found = find_word(words, count, sp, copied.entry->return_address) + 8;
    stack_unsuspend(core, stack);
    move_stack(core, stack, copied.entry, found);
    stack_switch_to(core, thread, stack); /* may give the entries more room, elsewhere */
    thread->hot->top = stack->base + place + 1;
    return true;
}

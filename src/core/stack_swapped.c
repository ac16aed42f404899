/*
 * stack_swapped.c: stacks that take turns at one place. Greenlets do so: all of a thread's lie on
 * its one stack, and a switch copies the part of it that is in the way to the heap, and that of the
 * greenlet that goes on back.
 *
 *      higher addresses
 *      |  main's frames     |   stay where they are, or are copied out and in like any other's
 *      |--------------------|
 *      |  a's frames        |   a and b have the same place; while one of them runs, (part of) the
 *      |  or b's            |   other is on the heap
 *      |--------------------| <- sp when the switch returns
 *      |  the switch itself |
 *
 * One function does it, the *swapper*: it is called by a, moves its own frame with the stack
 * pointer to where that of b was left (`add register, %rsp` and the same to %rbp, which no compiler
 * makes), has the memory copied there, and returns: in b. Return address and stack pointer may well
 * be what a's would have been. What tells b is the memory, which is word for word as it was when b
 * called the swapper. So with each call of a swapper the shadow stack is saved, with the first words
 * of its caller's frames; and when a swapper returns, the saved stack with the words that are there
 * now is the one that goes on.
 *
 * A swapper that is called to start a greenlet returns at once, without having moved. What is saved
 * is kept then too: it returns a second time when the program comes back to whoever started it. The
 * new greenlet runs on top of that one's frames, called by them, and is shown so.
 *
 * What was saved is gone when it has gone on. That of a greenlet that has ended stays, until one with
 * the same words takes its place, or the thread ends.
 */
#include "core/stack.h"
#include "core/platform.h"

#define WORDS        256  /* that are kept of a stack */
#define HASHED_WORDS 16   /* by which it is found, unless its frames are smaller */
#define FEWEST       1024 /* buckets: a power of two; there are never more stacks than buckets */

/* To find one: by all words, by the first ones, by its place, which is return address and stack
 * pointer. Those that have ended may well have their first words in common, by the thousand. */
enum { BY_ALL_WORDS, BY_WORDS, BY_PLACE, WAYS };

struct swapped_stack {
    uint64_t words[WORDS];
    size_t word_count; /* fewer near the end of the memory */
    uint64_t hashes[WAYS];
    struct stack_entry *entries; /* from the bottom on; the newest is of the call of the swapper */
    size_t entry_count;
    struct python_entry *python;
    size_t python_count;
    uint32_t plane;
    struct swapped_stack *next[WAYS], **from[WAYS]; /* in its buckets; what points to it there */
};

struct swapped_stacks {
    struct swapped_stack **buckets[WAYS]; /* the newest first */
    size_t bucket_count, count;
    struct swapped_stack *called; /* saved when the swapper that runs now was called */
};

/* ---- which module has one ---- */

/* add register, %rsp; add register, %rbp. */
static bool moves_frame(const uint8_t *at)
{
    return at[1] == 0x01 && at[4] == 0x01 && (at[0] & 0xfb) == 0x48 && at[3] == at[0] &&
           (at[2] & 0xc7) == 0xc4 && at[5] == at[2] + 1;
}

/* Has any byte of both words the value 1, in the same place? */
static bool both_have_one(const uint8_t *left, const uint8_t *right)
{
    const uint64_t ones = 0x0101010101010101;
    uint64_t a, b;
    __builtin_memcpy(&a, left, 8);
    __builtin_memcpy(&b, right, 8);
    uint64_t zero_if_so = (a ^ ones) | (b ^ ones);
    return (zero_if_so - ones) & ~zero_if_so & ones << 7;
}

/* Of megabytes of code hardly a place has the two opcodes: eight are looked at together. */
uint64_t stack_find_swapper(const uint8_t *code, size_t size_bytes)
{
    size_t i = 0;
    for (; i + 12 <= size_bytes; i += 8)
        if (both_have_one(code + i + 1, code + i + 4))
            for (size_t at = i; at < i + 8 && at + 6 <= size_bytes; at++)
                if (moves_frame(code + at))
                    return at;
    for (; i + 6 <= size_bytes; i++)
        if (moves_frame(code + i))
            return i;
    return UINT64_MAX;
}

/* ---- the saved stacks of a stack ---- */

static void release(struct swapped_stack *saved)
{
    platform_release(saved->entries, saved->entry_count * sizeof *saved->entries);
    if (saved->python_count)
        platform_release(saved->python, saved->python_count * sizeof *saved->python);
    platform_release(saved, sizeof *saved);
}

static size_t bytes_of_buckets(const struct swapped_stacks *all)
{
    return all->bucket_count * sizeof *all->buckets[0];
}

void stack_forget_swapped(struct stack *stack)
{
    struct swapped_stacks *all = stack->swapped;

    if (!all)
        return;
    for (size_t i = 0; i < all->bucket_count; i++)
        for (struct swapped_stack *next, *at = all->buckets[BY_PLACE][i]; at; at = next) {
            next = at->next[BY_PLACE];
            release(at);
        }
    for (unsigned way = 0; way < WAYS; way++)
        platform_release(all->buckets[way], bytes_of_buckets(all));
    platform_release(all, sizeof *all);
    stack->swapped = NULL;
}

void stack_inherit_swapped(struct stack *stack)
{
    for (size_t i = 0; stack->swapped && i < stack->swapped->bucket_count; i++)
        for (struct swapped_stack *at = stack->swapped->buckets[BY_PLACE][i]; at;
             at = at->next[BY_PLACE])
            at->plane = PLANE_INHERITED;
}

static struct swapped_stack **bucket_of(const struct swapped_stacks *all, unsigned way,
                                        uint64_t hash)
{
    return &all->buckets[way][hash >> 32 & (all->bucket_count - 1)];
}

static void link_in(const struct swapped_stacks *all, unsigned way, struct swapped_stack *saved)
{
    struct swapped_stack **first = bucket_of(all, way, saved->hashes[way]);

    saved->next[way] = *first;
    saved->from[way] = first;
    if (*first)
        (*first)->from[way] = &saved->next[way];
    *first = saved;
}

/* Oldest first, so that each bucket has the newest first again. */
static void link_chain(const struct swapped_stacks *all, unsigned way, struct swapped_stack *chain)
{
    struct swapped_stack *reversed = NULL;

    for (struct swapped_stack *next; chain; chain = next) {
        next = chain->next[way];
        chain->next[way] = reversed;
        reversed = chain;
    }
    for (struct swapped_stack *next; reversed; reversed = next) {
        next = reversed->next[way];
        link_in(all, way, reversed);
    }
}

static void add_buckets(struct swapped_stacks *all)
{
    struct swapped_stacks before = *all;

    all->bucket_count = before.bucket_count ? 2 * before.bucket_count : FEWEST;
    for (unsigned way = 0; way < WAYS; way++) {
        all->buckets[way] = platform_allocate(bytes_of_buckets(all));
        for (size_t i = 0; i < before.bucket_count; i++)
            link_chain(all, way, before.buckets[way][i]);
        if (before.bucket_count)
            platform_release(before.buckets[way], bytes_of_buckets(&before));
    }
}

static void put_in(struct swapped_stacks *all, struct swapped_stack *saved)
{
    if (all->count++ == all->bucket_count)
        add_buckets(all);
    for (unsigned way = 0; way < WAYS; way++)
        link_in(all, way, saved);
}

static void take_out(struct swapped_stacks *all, const struct swapped_stack *saved)
{
    all->count--;
    for (unsigned way = 0; way < WAYS; way++) {
        *saved->from[way] = saved->next[way];
        if (saved->next[way])
            saved->next[way]->from[way] = saved->from[way];
    }
}

static const struct stack_entry *newest(const struct swapped_stack *saved)
{
    return &saved->entries[saved->entry_count - 1];
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * TREE_MIX;
        hash ^= hash >> 32;
    }
    return hash;
}

/* What lies above sp now, and where such a stack is kept. */
static void read_words(struct swapped_stack *now, uint64_t target, uint64_t sp)
{
    uint64_t hash = (sp ^ target) * TREE_MIX;
    uint64_t start, end;

    now->word_count = WORDS;
    if (platform_find_mapping(sp, &start, &end) && (end - sp) / 8 < WORDS)
        now->word_count = (end - sp) / 8;
    if (!platform_read(sp, now->words, now->word_count * sizeof *now->words))
        now->word_count = 0;
    size_t first = now->word_count < HASHED_WORDS ? now->word_count : HASHED_WORDS;
    now->hashes[BY_PLACE] = hash;
    now->hashes[BY_WORDS] = hash = hash_words(hash, now->words, first);
    now->hashes[BY_ALL_WORDS] = hash_words(hash, now->words + first, now->word_count - first);
}

static size_t common_words(const struct swapped_stack *a, const struct swapped_stack *b)
{
    size_t count = 0;

    while (count < a->word_count && count < b->word_count && a->words[count] == b->words[count])
        count++;
    return count;
}

/* The stack in the bucket that has most words in common with `now`, and `least` at least. */
static struct swapped_stack *most_like(const struct swapped_stacks *all, unsigned way,
                                       const struct swapped_stack *now,
                                       const struct stack_entry *place, size_t least)
{
    struct swapped_stack *best = NULL;

    if (!all->bucket_count)
        return NULL;
    for (struct swapped_stack *at = *bucket_of(all, way, now->hashes[way]); at;
         at = at->next[way]) {
        size_t words = common_words(at, now);
        if (words < least ||
            !stack_entry_says(newest(at), place->return_address, place->stack_pointer))
            continue;
        best = at;
        least = words + 1;
    }
    return best;
}

/* The saved stack that goes on there: what lies beyond its own frames may have changed. NULL if
 * there is none. */
static struct swapped_stack *find(const struct swapped_stacks *all, const struct swapped_stack *now,
                                  const struct stack_entry *place)
{
    struct swapped_stack *found = most_like(all, BY_WORDS, now, place, HASHED_WORDS);

    return found ? found : most_like(all, BY_PLACE, now, place, 1);
}

/* ---- calls and returns of swappers ---- */

static void *copy_of(const void *items, size_t size_bytes)
{
    return size_bytes ? __builtin_memcpy(platform_allocate(size_bytes), items, size_bytes) : NULL;
}

/* Takes the place of one that has the same words, which nothing can go back to any more. */
void core_swap(struct core *core, struct thread *thread)
{
    struct stack *stack = thread->stack;
    struct stack_entry *call = thread->hot->top - 1;

    if (call <= stack->base || call->return_address & (STACK_SIGNAL_MARK | STACK_SWAP_MARK))
        return;
    if (!stack->swapped)
        stack->swapped = platform_allocate(sizeof *stack->swapped);
    struct swapped_stack *saved = platform_allocate(sizeof *saved);
    read_words(saved, call->return_address, call->stack_pointer);
    struct swapped_stack *same =
        most_like(stack->swapped, BY_ALL_WORDS, saved, call, saved->word_count);
    if (same) {
        take_out(stack->swapped, same);
        release(same);
    }
    saved->entry_count = thread->hot->top - stack->base;
    saved->entries = copy_of(stack->base, saved->entry_count * sizeof *saved->entries);
    python_count_frames(core, thread);
    saved->python_count = stack->python.count;
    saved->python = copy_of(stack->python.items, saved->python_count * sizeof *saved->python);
    saved->plane = stack->plane;
    put_in(stack->swapped, saved);
    stack->swapped->called = saved;
    call->return_address |= STACK_SWAP_MARK;
    call->code = core->no_landing;
}

static void go_on(struct core *core, struct thread *thread, const struct swapped_stack *saved)
{
    struct stack *stack = thread->stack;

    for (size_t i = 0; i < saved->entry_count; i++) {
        stack->base[i] = saved->entries[i];
        stack->base[i].code = core->no_landing;
    }
    for (size_t i = 0; i < saved->python_count; i++)
        stack->python.items[i] = saved->python[i];
    stack->python.count = saved->python_count;
    stack->plane = saved->plane;
    thread->hot->top = stack->base + saved->entry_count;
    thread->hot->current = newest(saved)->context;
    python_stack_loaded(core, thread);
    core_resume(core, thread);
    core->repairs[REPAIR_STACK_SWITCH]++;
}

bool stack_return_from_swapper(struct core *core, struct thread *thread, uint64_t target,
                               uint64_t sp)
{
    struct stack *stack = thread->stack;
    struct stack_entry *call = thread->hot->top - 1;
    struct stack_entry place = {.return_address = target, .stack_pointer = sp};
    struct swapped_stack now;

    if (!(call->return_address & STACK_SWAP_MARK) || call->return_address & STACK_SIGNAL_MARK)
        return false;
    call->return_address &= ~STACK_SWAP_MARK;
    read_words(&now, target, sp);
    struct swapped_stack *saved = find(stack->swapped, &now, &place);
    if (!saved)
        return false;
    if (saved != stack->swapped->called) {
        go_on(core, thread, saved);
        take_out(stack->swapped, saved);
        release(saved);
    }
    thread->hot->current = thread->hot->top[-1].context;
    thread->hot->top--;
    thread->hot->pending_site = 0;
    return true;
}

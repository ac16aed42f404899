/* line_counters.c: see line_counters.h. */
#include "engines/native/line_counters.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/cache.h"
#include "engines/native/python_counts.h"
#include "engines/native/record.h"

_Static_assert(LINE_ORIGIN == 128 + offsetof(struct line_array, counts), "see line_counters.h");

#define ROOM_GRAIN 8 /* arrays fill cache lines */

/* Of contexts that ask for each counter. */
static struct line_array empty;

/* What the counters of a function's contexts count, by their place. */
struct line_function {
    uint32_t count, capacity;
    uint32_t room;     /* counters that every context has from now on; none has had fewer */
    uint32_t contexts; /* that were made */
    uint32_t large;    /* contexts with more than LINE_PLACES counters */
    struct line_counter *counters;
};

/* By the core's number of a run: its place in its function. */
static struct line_run {
    const struct code_function *function;
    uint32_t place, stub;
} * runs;
static uint32_t run_capacity;

static void keep_run_room(uint32_t number)
{
    if (number < run_capacity)
        return;
    uint32_t capacity = run_capacity ? 2 * run_capacity : 4096;
    while (capacity <= number)
        capacity *= 2;
    struct line_run *larger = arena_allocate(capacity * sizeof *larger);
    if (runs)
        memcpy(larger, runs, run_capacity * sizeof *runs);
    arena_release(runs, run_capacity * sizeof *runs);
    runs = larger;
    run_capacity = capacity;
}

static void add_place(struct line_function *of, struct line_counter counter)
{
    if (of->count == of->capacity) {
        uint32_t capacity = of->capacity ? 2 * of->capacity : 16;
        struct line_counter *larger = arena_allocate(capacity * sizeof *larger);
        if (of->counters)
            memcpy(larger, of->counters, of->count * sizeof *larger);
        arena_release(of->counters, of->capacity * sizeof *larger);
        of->counters = larger;
        of->capacity = capacity;
    }
    of->counters[of->count++] = counter;
}

static uint32_t place_limit(const struct line_function *of)
{
    return of->large < LINE_LARGE_CONTEXTS ? LINE_PLACES_MAX : LINE_PLACES;
}

/* At least so many counters, in whole lines of the cache with what an array begins with. */
static uint32_t whole_lines(uint64_t count)
{
    return (uint32_t)((count + 1) / ROOM_GRAIN * ROOM_GRAIN + ROOM_GRAIN - 2);
}

/* How much room the next context may have, which is less the more there are. Once there are a few,
 * nearly all that the function ever runs has been translated. */
static uint32_t most_room(const struct line_function *of)
{
    uint32_t most = of->contexts < 8     ? 2046
                    : of->contexts < 32  ? 254
                    : of->contexts < 512 ? 62
                                         : 30;
    uint32_t likely = whole_lines(of->count + of->count / 4);
    return of->contexts >= 8 && likely < most ? likely : most;
}

static struct line_function *lines_of(struct code_function *function)
{
    const unsigned run_bytes = 12; /* of code, as compilers make it */
    if (function->engine)
        return function->engine;
    struct line_function *of = function->engine = arena_allocate(sizeof *of);
    uint64_t bytes = function->end > function->start ? function->end - function->start : 0;
    uint32_t room = whole_lines(bytes / run_bytes);
    of->room = room < most_room(of) ? room : most_room(of);
    return of;
}

uint32_t line_counters_place(struct line_counter counter, struct code_function *function)
{
    if (!function)
        return 0;
    keep_run_room(counter.run);
    struct line_function *of = lines_of(function);
    struct line_run *run = &runs[counter.run];
    if (run->function != function || run->stub != counter.stub) {
        if (of->count >= place_limit(of))
            return 0;
        add_place(of, counter);
        *run = (struct line_run){function, of->count, counter.stub};
    }
    return run->place <= place_limit(of) ? run->place : 0;
}

bool line_counters_have_room(struct code_function *function, uint32_t place)
{
    return place <= lines_of(function)->room;
}

uint32_t line_counters_stub(uint32_t run)
{
    return run < run_capacity ? runs[run].stub : 0;
}

/* ---- arrays ---- */

/* NULL: the context has none of its own, or those of python_counts.c. */
static struct line_array *array_of(const struct context *context)
{
    if (line_counters_are_away(context))
        return NULL;
    struct line_array *array = (struct line_array *)(context->counters - LINE_ORIGIN);
    return array->capacity ? array : NULL;
}

static void set_array(struct context *context, const struct line_array *array)
{
    context->counters = (uint64_t)array + LINE_ORIGIN;
}

static size_t array_bytes(uint32_t capacity)
{
    return sizeof(struct line_array) + capacity * sizeof(uint64_t);
}

static struct line_array *begin_array(struct line_array *array, struct context *context,
                                      uint32_t capacity)
{
    array->capacity = capacity;
    array->owner = context_number(context);
    set_array(context, array);
    return array;
}

static struct line_array *new_array(struct context *context, uint32_t capacity)
{
    return begin_array(arena_allocate(array_bytes(capacity)), context, capacity);
}

static void copy_counts(uint64_t **to, const uint64_t *from, uint64_t capacity, uint64_t count)
{
    if (!*to)
        *to = arena_allocate(capacity * sizeof **to);
    memcpy(*to, from, count * sizeof **to);
}

static void move_counts(struct line_array *array, const struct line_array *old)
{
    uint64_t *counts = array->counts;
    copy_counts(&counts, old->counts, array->capacity, old->capacity);
    if (old->taken) {
        copy_counts(&array->taken, old->taken, array->capacity, old->capacity);
        arena_release(old->taken, old->capacity * sizeof *old->taken);
    }
}

/* ---- new arrays ---- */

#define YOUNG_BYTES (2ul << 20)

static struct {
    uint8_t *memory; /* NULL: not used yet */
    size_t used;
} young;

static bool is_young(const struct line_array *array)
{
    return (const uint8_t *)array >= young.memory &&
           (const uint8_t *)array < young.memory + YOUNG_BYTES;
}

static void flush_array(struct context *context, struct line_array *array, bool alone);

/* What a child of fork has of its parent's is not its own. */
static void put_away(struct context *context, struct line_array *array)
{
    if (array->owner >= core.tree.inherited)
        flush_array(context, array, true);
    if (array->taken)
        arena_release(array->taken, array->capacity * sizeof *array->taken);
    context->counters = array->capacity;
}

static void clear_young(void)
{
    for (size_t at = 0; at < young.used;) {
        struct line_array *array = (struct line_array *)(young.memory + at);
        struct context *context = tree_context(&core.tree, array->owner);
        at += array_bytes(array->capacity);
        if (array_of(context) != array) /* it has a larger one */
            continue;
        if (context->calls > LINE_SELDOM)
            move_counts(new_array(context, array->capacity), array);
        else
            put_away(context, array);
    }
    memset(young.memory, 0, young.used);
    young.used = 0;
}

static bool young_fits(uint32_t capacity)
{
    return !locks_are_shared() && young.used + array_bytes(capacity) <= YOUNG_BYTES;
}

/* Where it does not fit, for good. */
static struct line_array *new_young_array(struct context *context, uint32_t capacity)
{
    if (!young_fits(capacity))
        return new_array(context, capacity);
    if (!young.memory)
        young.memory = arena_allocate(YOUNG_BYTES);
    uint8_t *memory = young.memory + young.used;
    young.used += array_bytes(capacity);
    return begin_array((struct line_array *)memory, context, capacity);
}

void line_counters_come_back(struct context *context)
{
    new_array(context, context->counters);
}

void line_counters_emit_check(struct emitter *e, unsigned context, uint64_t miss)
{
    _Static_assert(ENGINE_START > UINT32_MAX, "what an address is not");
    emit_bytes(e, "\x83", 1); /* cmp dword [context + upper half of counters], 0 */
    emit_byte(e, 0x78 | context);
    emit_byte(e, offsetof(struct context, counters) + 4);
    emit_byte(e, 0);
    jump_if(e, IF_EQUAL, miss);
}

/* ---- contexts ---- */

/* Python's contexts run the evaluator. Blocks that do not ask go on for the contexts that are in them:
 * those were made in time. */
void line_counters_context_made(struct context *context)
{
    struct code_function *function = context->code;
    set_array(context, &empty);
    if (function->flags & CODE_FUNCTION_PYTHON || python_counts_begin(function)) {
        python_counts_context_made(context);
        return;
    }
    if (function->flags & CODE_FUNCTION_ANONYMOUS)
        return;
    struct line_function *of = lines_of(function);
    if (!locks_are_shared() && !young_fits(of->room))
        clear_young();
    new_young_array(context, of->room);
    of->contexts++;
    uint32_t most = most_room(of);
    if (of->room <= most)
        return;
    of->room = most;
    if (of->count > most)
        cache_remake_function(function);
}

/* Its thread does not know the old one any longer when it goes on. */
static void grow_array(struct context *context, uint32_t place)
{
    struct line_array *old = array_of(context);
    uint32_t capacity = old ? old->capacity : ROOM_GRAIN - 2;
    if (place > LINE_PLACES && capacity <= LINE_PLACES)
        lines_of(context->code)->large++;
    if (capacity < place)
        capacity = whole_lines(place);
    if (!old) {
        new_array(context, capacity);
    } else if (is_young(old)) {
        move_counts(new_young_array(context, capacity), old);
    } else {
        move_counts(new_array(context, capacity), old);
        arena_release(old, array_bytes(old->capacity));
    }
}

bool line_counters_grow(struct context *context, uint32_t place)
{
    grow_array(context, place);
    return place <= place_limit(lines_of(context->code));
}

/* ---- counts on their way to the core ---- */

/* How often the counter at place `i` + 1 has counted since it was last taken. */
static uint64_t count_since(const struct line_array *array, uint32_t i)
{
    return array->counts[i] - (array->taken ? array->taken[i] : 0);
}

/* Where other threads run, one of them may be counting in this very context: its counters are left
 * alone, and how far they were is noted. Most contexts are flushed once, so their counts need not be
 * looked for in the core's table. */
static void flush_array(struct context *context, struct line_array *array, bool alone)
{
    const struct line_function *of = lines_of(context->code);
    for (uint32_t i = 0; i < array->capacity && i < of->count; i++) {
        uint64_t count = count_since(array, i);
        if (!count)
            continue;
        counts_add_late(&core.counts, context->key + of->counters[i].run, count);
        if (of->counters[i].stub)
            counts_add_late(&core.counts, context->key + of->counters[i].stub, count);
        if (!array->taken && !alone)
            array->taken = arena_allocate(array->capacity * sizeof *array->taken);
        if (array->taken)
            array->taken[i] += count;
        else
            array->counts[i] = 0;
    }
}

static void flush_context(struct context *context, bool alone)
{
    if (python_counts_apply(context->code)) {
        python_counts_flush(context, alone);
        return;
    }
    struct line_array *array = array_of(context);
    if (array)
        flush_array(context, array, alone);
}

void line_counters_flush(bool alone)
{
    for (uint32_t i = core.tree.inherited; options.line_detail && i < core.tree.count; i++)
        flush_context(tree_context(&core.tree, i), alone);
}

static uint32_t instructions_of(struct line_counter counter)
{
    return core.blocks[counter.run].instructions +
           (counter.stub ? core.blocks[counter.stub].instructions : 0);
}

uint64_t line_counters_instructions(void)
{
    uint64_t instructions = 0;
    for (uint32_t i = core.tree.inherited; i < core.tree.count; i++) {
        const struct context *context = tree_context(&core.tree, i);
        if (python_counts_apply(context->code)) {
            instructions += python_counts_instructions(context);
            continue;
        }
        const struct line_array *array = array_of(context);
        const struct line_function *of = context->code->engine;
        for (uint32_t k = 0; array && k < array->capacity && k < of->count; k++)
            instructions += count_since(array, k) * instructions_of(of->counters[k]);
    }
    return instructions;
}

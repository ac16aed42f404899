/* python_counts.c: see python_counts.h. */
#include "engines/native/python_counts.h"
#include "core/python.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/record.h"
#include "engines/native/translation.h"

/* How many runs have places; those beyond are told one by one. As many counters can be reached with
 * sixteen bits. */
#define PLACES 8000

/* The runs that a Python function has run, in that order; or those of evaluators by themselves. */
struct run_set {
    struct python_places *newest;
    uint32_t *runs; /* the core's numbers */
    uint32_t count, capacity;
};

/* Where the counters of a set's runs are in blocks of counters, and how many such a block has. Kept
 * for good: contexts go on with the one that they had when they were given counters. */
struct python_places {
    struct run_set *set;
    uint32_t capacity;
    uint16_t
        offsets[PLACES]; /* from the block on, by a run's place; 0: none, as that of NO_PLACE */
};

_Static_assert(PLACES * sizeof(uint64_t) < UINT16_MAX - 64, "with the head of a block");

struct python_places python_no_places;

/* As lines.c has its arrays: a context without counters reads as one without places. */
struct counter_block {
    struct counter_block *older; /* of the same context: lines may still have it */
    const struct python_places *places;
    uint64_t *taken; /* how much of each the core has; NULL: it was taken away from them */
    uint64_t counts[];
};

#define BLOCK(member) ((uint32_t)(offsetof(struct counter_block, member) - LINE_ORIGIN))

/* With the header, cache lines; and the next size. */
#define FIRST_CAPACITY   61
#define NEXT_CAPACITY(n) (3 * (n) + 6)

/* What an evaluator's code_function.engine points to. */
static char evaluator;

/* By the core's number of a run: its place, in the order in which runs were first executed, as few of
 * those that are translated ever are. */
#define NO_PLACE 0
static struct {
    uint32_t *places;
    uint32_t capacity, count;
} known;

bool python_counts_apply(const struct code_function *function)
{
    return function && function->engine == &evaluator;
}

bool python_counts_settle(const struct translation *t)
{
    return options.line_detail && t->python && python_counts_apply(t->function);
}

bool python_counts_begin(struct code_function *function)
{
    struct python_module *python = function->module ? function->module->python : NULL;
    if (!function->engine && options.python && python && python_evaluates(python, function) &&
        python_prepare(python))
        function->engine = &evaluator;
    return python_counts_apply(function);
}

/* ---- places ---- */

static void keep_room(uint32_t **list, uint32_t *capacity, uint32_t number, uint32_t least)
{
    uint32_t larger = *capacity ? *capacity : least;
    if (number < *capacity)
        return;
    while (larger <= number)
        larger *= 2;
    uint32_t *items = arena_allocate(larger * sizeof *items);
    if (*list)
        memcpy(items, *list, *capacity * sizeof *items);
    arena_release(*list, *capacity * sizeof *items);
    *list = items;
    *capacity = larger;
}

static uint32_t place_of(uint32_t run)
{
    return run < known.capacity ? known.places[run] : NO_PLACE;
}

/* Now that it runs; but there may be none left. */
static uint32_t make_place(uint32_t run)
{
    keep_room(&known.places, &known.capacity, run, 4096);
    if (!known.places[run] && known.count + 1 < PLACES)
        known.places[run] = ++known.count;
    return known.places[run];
}

static struct run_set *set_of(struct code_function *function)
{
    static struct run_set evaluators;
    if (!(function->flags & CODE_FUNCTION_PYTHON))
        return &evaluators;
    if (!function->engine)
        function->engine = arena_allocate(sizeof(struct run_set));
    return function->engine;
}

static struct python_places *larger_places(struct run_set *set)
{
    const struct python_places *old = set->newest;
    struct python_places *places = arena_allocate(sizeof *places);
    places->set = set;
    places->capacity = old ? NEXT_CAPACITY(old->capacity) : FIRST_CAPACITY;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t place = place_of(set->runs[i]);
        places->offsets[place] = old->offsets[place];
    }
    set->newest = places;
    return places;
}

/* Those that have `run`. */
static const struct python_places *places_with(struct run_set *set, uint32_t run)
{
    struct python_places *places = set->newest;
    uint32_t place = place_of(run);
    if (places && places->offsets[place])
        return places;
    if (!places || set->count == places->capacity)
        places = larger_places(set);
    keep_room(&set->runs, &set->capacity, set->count, FIRST_CAPACITY);
    set->runs[set->count] = run;
    places->offsets[place] =
        offsetof(struct counter_block, counts) + set->count++ * sizeof(uint64_t);
    return places;
}

/* ---- counting ---- */

/* What a run adds to the line that it is for. Loses rax, which is borrowed where lines are none. */
static void emit_line_instructions(struct emitter *e, const struct line_count *count)
{
    unsigned instructions = core.blocks[count->number].instructions;
    if (count->is_python) {
        vectors_emit_count(e, instructions);
        return;
    }
    emit_load(e, RAX, FIELD(hot.current));
    emit_bytes(e, "\x48\x83\x40", 3); /* add qword [rax + calls], instructions */
    emit_byte(e, CONTEXT(calls));
    emit_byte(e, instructions);
}

static uint32_t displacement(uint32_t place)
{
    return offsetof(struct python_places, offsets) + place * sizeof(uint16_t);
}

void python_counts_emit(struct emitter *e, const struct line_count *count)
{
    const unsigned reg = count->reg, low = reg & 7, extended = reg > 7 ? 5 : 0; /* REX.R, REX.B */
    const uint8_t load_places[] = {0x48 | extended, OP_LOAD, 0x80 | low << 3 | low};
    const uint8_t load_offset[] = {0x40 | extended, 0x0f, 0xb7, 0x80 | low << 3 | low}; /* movzx */
    const uint8_t test[] = {0x40 | extended, OP_TEST, 0xc0 | low << 3 | low};
    emit_load(e, reg, FIELD(counters));
    emit_bytes(e, load_places, sizeof load_places);
    emit_u32(e, BLOCK(places));
    emit_align_patch(e, sizeof load_offset);
    emit_bytes(e, load_offset, sizeof load_offset);
    cache.exits[count->exit_id].patch = e->address - CACHE_START;
    emit_u32(e, displacement(place_of(count->number)));
    emit_bytes(e, test, sizeof test);
    jump_if(e, IF_EQUAL, count->miss);
    op_thread(e, OP_ADD, reg, FIELD(counters));
    emit_increment(e, reg, -LINE_ORIGIN);
    emit_line_instructions(e, count);
}

static bool is_line(const struct context *context)
{
    return context->function->flags & CODE_FUNCTION_LINE;
}

static struct counter_block *block_of(const struct context *context)
{
    return context->counters != lines_no_counters()
               ? (struct counter_block *)(context->counters - LINE_ORIGIN)
               : NULL;
}

bool python_counts_take_exit(struct context *context, const struct exit *exit)
{
    struct context *owner = is_line(context) ? context->parent : context;
    uint32_t run = exit->site, place = make_place(run);
    if (place == NO_PLACE) {
        counts_add_late(&core.counts,
                        python_counts_key(context, core.blocks[run].instructions) + run, 1);
        return true;
    }
    cache_patch(exit->patch, displacement(place));
    const struct python_places *places = places_with(set_of(owner->function), run);
    struct counter_block *block = block_of(owner);
    if (!block || block->places != places) {
        struct counter_block *larger =
            arena_allocate(sizeof *larger + places->capacity * sizeof *larger->counts);
        larger->older = block;
        larger->places = places;
        owner->counters = (uint64_t)larger + LINE_ORIGIN;
    }
    context->counters = owner->counters;
    return false;
}

uint64_t python_counts_key(struct context *context, int64_t instructions)
{
    if (!is_line(context))
        return context->key;
    context->calls += instructions;
    context->parent->calls -= instructions; /* which the line will give it */
    return context->parent->key;
}

/* ---- on their way to the core ---- */

static uint64_t count_since(const struct counter_block *block, uint32_t i)
{
    return block->counts[i] - (block->taken ? block->taken[i] : 0);
}

static void take(struct counter_block *block, uint32_t i, uint64_t count, bool alone)
{
    if (!block->taken && !alone)
        block->taken = arena_allocate(block->places->capacity * sizeof *block->taken);
    if (block->taken)
        block->taken[i] += count;
    else
        block->counts[i] = 0;
}

static uint32_t used(const struct counter_block *block)
{
    uint32_t count = block->places->set->count, capacity = block->places->capacity;
    return count < capacity ? count : capacity;
}

/* Its lines come behind it in the tree, and say then what of this was theirs. */
static void flush_owner(struct context *context, bool alone)
{
    for (struct counter_block *block = block_of(context); block; block = block->older)
        for (uint32_t i = 0; i < used(block); i++) {
            uint64_t count = count_since(block, i);
            if (!count)
                continue;
            uint32_t run = block->places->set->runs[i];
            counts_add_late(&core.counts, context->key + run, count);
            context->calls -= count * core.blocks[run].instructions;
            take(block, i, count, alone);
        }
}

static void flush_line(struct context *context)
{
    uint64_t instructions = context->calls;
    if (!instructions)
        return;
    counts_add_late(&core.counts, context->key, instructions);
    context->parent->calls += instructions;
    context->calls -= instructions;
}

void python_counts_flush(struct context *context, bool alone)
{
    if (is_line(context))
        flush_line(context);
    else
        flush_owner(context, alone);
}

uint64_t python_counts_instructions(const struct context *context)
{
    uint64_t instructions = 0;
    for (const struct counter_block *block = is_line(context) ? NULL : block_of(context); block;
         block = block->older)
        for (uint32_t i = 0; i < used(block); i++)
            instructions +=
                count_since(block, i) * core.blocks[block->places->set->runs[i]].instructions;
    return instructions;
}

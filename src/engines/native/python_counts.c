/* python_counts.c: see python_counts.h. */
#include "engines/native/python_counts.h"
#include "core/python.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/line_counters.h"
#include "engines/native/record.h"
#include "engines/native/translation.h"

/* How many runs have places; those beyond are told one by one. */
#define PLACES 8000

/* So many counters are in every context, the others in `further`. */
#define ROOM 2032

/* Most functions are called once or twice, while modules are imported. So every time that there are so
 * many new pages, what those count that were called seldom goes to the core, and the
 * pages to others. Who comes back gets another, for good. */
#define YOUNG_PAGES 256

#define NO_PLACE 0
#define FULL     UINT16_MAX
#define TURN     ((uint64_t)FULL + 1) /* what a counter counts from nothing to nothing */

/* What the core has of counters that were left alone, by place; few of a context's ever counted. */
struct taken {
    uint32_t count, capacity;
    struct taken_count {
        uint16_t place, count;
    } items[];
};

/* A page. Begins as the arrays of lines.c do: there is nothing here that those have. */
struct python_counters {
    uint64_t capacity; /* 0 */
    struct context *owner;
    uint16_t *further;     /* NULL: none ran yet */
    struct taken *taken;   /* NULL: what the core has was taken away from them */
    uint16_t counts[ROOM]; /* that of NO_PLACE is FULL */
};

_Static_assert(sizeof(struct python_counters) == 4096, "a page");

#define COUNTERS(member) ((int)offsetof(struct python_counters, member) - LINE_ORIGIN)

/* What an evaluator's code_function.engine points to. */
static char evaluator;

/* By the core's number of a run: its place, in the order in which runs were first executed, as few of
 * those that are translated ever are; and by its place: the run. */
static struct {
    uint32_t *places;
    uint32_t capacity, count;
    uint32_t runs[PLACES];
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

static void keep_room(uint32_t run)
{
    uint32_t larger = known.capacity ? known.capacity : 4096;
    if (run < known.capacity)
        return;
    while (larger <= run)
        larger *= 2;
    uint32_t *places = arena_allocate(larger * sizeof *places);
    if (known.places)
        memcpy(places, known.places, known.capacity * sizeof *places);
    arena_release(known.places, known.capacity * sizeof *places);
    known.places = places;
    known.capacity = larger;
}

static uint32_t place_of(uint32_t run)
{
    return run < known.capacity ? known.places[run] : NO_PLACE;
}

/* Now that it runs; but there may be none left. */
static uint32_t make_place(uint32_t run)
{
    keep_room(run);
    if (!known.places[run] && known.count + 1 < PLACES) {
        known.places[run] = ++known.count;
        known.runs[known.count] = run;
    }
    return known.places[run];
}

/* ---- counters ---- */

static struct {
    /* Counters of those that have none at the moment: all of them are full, so whoever counts there
     * leaves the cache, and has counters of its own from then on. Two threads may not do so at once:
     * these are for contexts of the first one, made while it is alone. NULL: not made yet. */
    struct python_counters *all_full;
    /* What was made since pages were last taken back: */
    struct python_counters *pages[YOUNG_PAGES];
    uint32_t page_count, line_count, line_capacity;
    /* Pages that were taken back, and count nothing: */
    struct python_counters *spare[YOUNG_PAGES];
    uint32_t spare_count;
    struct context **lines;
} young;

static struct python_counters *counters_at(uint64_t address)
{
    return (struct python_counters *)(address - LINE_ORIGIN);
}

static uint64_t address_of(const struct python_counters *counters)
{
    return (uint64_t)counters + LINE_ORIGIN;
}

static bool has_page(const struct context *context)
{
    return context->counters != address_of(young.all_full);
}

/* NULL: it is in further counters that there are none of. */
static uint16_t *counter_at(struct python_counters *counters, uint32_t place)
{
    if (place < ROOM)
        return &counters->counts[place];
    return counters->further ? &counters->further[place - ROOM] : NULL;
}

static void add_to_core(struct context *owner, uint32_t run, uint64_t count)
{
    counts_add_late(&core.counts, owner->key + run, count);
    owner->calls -= count * core.blocks[run].instructions;
}

static uint64_t bytes_of_taken(uint32_t capacity)
{
    return sizeof(struct taken) + capacity * sizeof(struct taken_count);
}

/* The first item of this place, or of a later one. */
static uint32_t find_taken(const struct taken *taken, uint32_t place)
{
    uint32_t low = 0, high = taken->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (taken->items[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL: nothing was taken. */
static uint16_t *taken_at(const struct python_counters *counters, uint32_t place)
{
    struct taken *taken = counters->taken;
    uint32_t at = taken ? find_taken(taken, place) : 0;
    return taken && at < taken->count && taken->items[at].place == place ? &taken->items[at].count
                                                                         : NULL;
}

static void keep_taken_room(struct python_counters *counters)
{
    struct taken *old = counters->taken;
    if (old && old->count < old->capacity)
        return;
    uint32_t capacity = old ? 2 * old->capacity : 30;
    struct taken *larger = arena_allocate(bytes_of_taken(capacity));
    if (old) {
        memcpy(larger, old, bytes_of_taken(old->count));
        arena_release(old, bytes_of_taken(old->capacity));
    }
    larger->capacity = capacity;
    counters->taken = larger;
}

static void note_taken(struct python_counters *counters, uint32_t place, uint64_t count)
{
    uint16_t *known_count = taken_at(counters, place);
    if (known_count) {
        *known_count += count;
        return;
    }
    keep_taken_room(counters);
    struct taken *taken = counters->taken;
    uint32_t at = find_taken(taken, place);
    memmove(taken->items + at + 1, taken->items + at, (taken->count - at) * sizeof *taken->items);
    taken->items[at] = (struct taken_count){place, count};
    taken->count++;
}

static void count_once(struct python_counters *counters, uint32_t place)
{
    if (place >= ROOM && !counters->further)
        counters->further = arena_allocate((PLACES - ROOM) * sizeof *counters->further);
    uint16_t *counter = counter_at(counters, place);
    if (*counter == FULL)
        add_to_core(counters->owner, known.runs[place], 1);
    else
        (*counter)++;
}

/* The counter has just begun anew. */
static void take_turn(struct python_counters *counters, uint32_t place)
{
    uint16_t *taken = taken_at(counters, place);
    add_to_core(counters->owner, known.runs[place], TURN - (taken ? *taken : 0));
    if (taken)
        *taken = 0;
}

/* ---- on their way to the core ---- */

/* Nothing, where the counter is about to be told of: it has begun anew since it was last taken. */
static uint64_t count_since(struct python_counters *counters, uint32_t place)
{
    const uint16_t *counter = counter_at(counters, place);
    const uint16_t *taken = taken_at(counters, place);
    uint16_t count = counter ? *counter : 0;
    return count ? count - (uint64_t)(taken ? *taken : 0) : 0;
}

static void take(struct python_counters *counters, uint32_t place, uint64_t count, bool alone)
{
    if (counters->taken || !alone)
        note_taken(counters, place, count);
    else
        *counter_at(counters, place) = 0;
}

/* The next place from `place` on that may have counted: most have not, and are passed by four. */
static uint32_t next_used(const struct python_counters *counters, uint32_t place)
{
    uint64_t four;
    for (; place % 4 == 0 && place < ROOM; place += 4) {
        __builtin_memcpy(&four, &counters->counts[place], sizeof four);
        if (four)
            break;
    }
    return place;
}

static uint32_t places_used(const struct python_counters *counters)
{
    return known.count < ROOM || counters->further ? known.count + 1 : ROOM;
}

/* Its lines come behind it in the tree, and say then what of this was theirs. */
static void flush_owner(struct context *context, bool alone)
{
    struct python_counters *counters = counters_at(context->counters);
    uint32_t end = has_page(context) ? places_used(counters) : 0;
    for (uint32_t place = 1; (place = next_used(counters, place)) < end; place++) {
        uint64_t count = count_since(counters, place);
        if (!count)
            continue;
        add_to_core(context, known.runs[place], count);
        take(counters, place, count, alone);
    }
}

/* ---- pages ---- */

static struct python_counters *new_page(struct context *owner)
{
    struct python_counters *page =
        young.spare_count ? young.spare[--young.spare_count] : arena_allocate(sizeof *page);
    page->owner = owner;
    page->counts[NO_PLACE] = FULL;
    if (owner)
        owner->counters = address_of(page);
    return page;
}

static void take_page(struct context *context)
{
    if (!young.all_full) {
        young.all_full = new_page(NULL);
        for (uint32_t i = 0; i < ROOM; i++)
            young.all_full->counts[i] = FULL;
    }
    context->counters = address_of(young.all_full);
}

static void note_line(struct context *line)
{
    if (young.line_count == young.line_capacity) {
        uint32_t capacity = young.line_capacity ? 2 * young.line_capacity : 1024;
        struct context **larger = arena_allocate(capacity * sizeof *larger);
        if (young.lines)
            memcpy(larger, young.lines, young.line_count * sizeof *larger);
        arena_release(young.lines, young.line_capacity * sizeof *larger);
        young.lines = larger;
        young.line_capacity = capacity;
    }
    young.lines[young.line_count++] = line;
}

static void take_pages_back(void)
{
    const uint64_t current = thread_self()->counters;
    for (uint32_t i = 0; i < young.page_count; i++) {
        struct python_counters *page = young.pages[i];
        bool is_parents = context_number(page->owner) < core.tree.inherited; /* over a fork */
        if (page->owner->calls > LINE_SELDOM || page->further || page->taken || is_parents ||
            address_of(page) == current)
            continue;
        flush_owner(page->owner, true);
        take_page(page->owner);
        if (young.spare_count < YOUNG_PAGES)
            young.spare[young.spare_count++] = page;
        else
            arena_release(page, sizeof *page);
    }
    for (uint32_t i = 0; i < young.line_count; i++)
        young.lines[i]->counters = young.lines[i]->parent->counters;
    young.page_count = young.line_count = 0;
}

void python_counts_context_made(struct context *context)
{
    if (context_is_line(context)) {
        context->counters = context->parent->counters;
        if (!locks_are_shared())
            note_line(context);
        return;
    }
    if (locks_are_shared()) {
        new_page(context);
        return;
    }
    if (!(context->function->flags & CODE_FUNCTION_PYTHON)) {
        take_page(context);
        return;
    }
    if (young.page_count == YOUNG_PAGES)
        take_pages_back();
    young.pages[young.page_count++] = new_page(context);
}

/* The thread has counted where all is full, at this place or at none: its context gets a page. */
static struct python_counters *give_page(struct native_thread *thread, uint32_t place)
{
    struct context *current = thread->hot.current;
    struct context *owner = context_is_line(current) ? current->parent : current;
    if (place < ROOM)
        young.all_full->counts[place] = FULL;
    if (!has_page(owner))
        new_page(owner);
    current->counters = thread->counters = owner->counters;
    return counters_at(owner->counters);
}

void python_counts_take_exit(struct native_thread *thread, const struct exit *exit)
{
    struct python_counters *counters = counters_at(thread->counters);
    uint32_t run = exit->site, place = make_place(run);
    bool knew_place = counters->counts[NO_PLACE] == FULL;
    counters->counts[NO_PLACE] = FULL;
    if (counters == young.all_full) {
        counters = give_page(thread, place);
    } else if (knew_place && counter_at(counters, place)) {
        take_turn(counters, place);
        return;
    }
    if (place == NO_PLACE) {
        add_to_core(counters->owner, run, 1);
        return;
    }
    if (!knew_place && place < ROOM)
        cache_patch(exit->patch, COUNTERS(counts[place]));
    else if (!knew_place)
        cache_remake(exit->pc);
    count_once(counters, place);
}

uint64_t python_counts_key(struct context *context, int64_t instructions)
{
    if (!context_is_line(context))
        return context->key;
    context->calls += instructions;
    context->parent->calls -= instructions; /* which the line will give it */
    return context->parent->key;
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

/* reg = the further counters */
static void emit_further(struct emitter *e, const struct line_count *count)
{
    const unsigned low = count->reg & 7, extended = count->reg > 7 ? 5 : 0; /* REX.R, REX.B */
    const uint8_t load[] = {0x48 | extended, OP_LOAD, 0x80 | low << 3 | low};
    const uint8_t test[] = {0x48 | extended, OP_TEST, 0xc0 | low << 3 | low};
    emit_bytes(e, load, sizeof load);
    emit_u32(e, COUNTERS(further));
    emit_bytes(e, test, sizeof test);
    jump_if(e, IF_EQUAL, count->miss);
}

void python_counts_emit(struct emitter *e, const struct line_count *count)
{
    const uint32_t place = place_of(count->number);
    const uint8_t increment[] = {0x66, 0x40 | count->reg >> 3, 0xff, 0x80 | (count->reg & 7)};
    emit_line_instructions(e, count);
    emit_load(e, count->reg, FIELD(counters));
    if (place >= ROOM)
        emit_further(e, count);
    emit_align_patch(e, sizeof increment);
    emit_bytes(e, increment, sizeof increment); /* inc word [reg + place] */
    cache.exits[count->exit_id].patch = e->address - CACHE_START;
    emit_u32(e, place < ROOM ? COUNTERS(counts[place]) : (int)((place - ROOM) * sizeof(uint16_t)));
    jump_if(e, IF_EQUAL, count->miss);
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
    if (context_is_line(context))
        flush_line(context);
    else
        flush_owner(context, alone);
}

uint64_t python_counts_instructions(const struct context *context)
{
    uint64_t instructions = 0;
    struct python_counters *counters = counters_at(context->counters);
    uint32_t end = context_is_line(context) || !has_page(context) ? 0 : places_used(counters);
    for (uint32_t place = 1; (place = next_used(counters, place)) < end; place++)
        instructions += count_since(counters, place) * core.blocks[known.runs[place]].instructions;
    return instructions;
}

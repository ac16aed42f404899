/* python_counts.c: see python_counts.h. */
#include "engines/native/python_counts.h"
#include "core/python.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/record.h"

#define PAGE_COUNTS 31

struct page {
    uint64_t counts[PAGE_COUNTS];
    uint64_t *taken; /* how much of each the core has; NULL: it was taken away from them */
};

/* As lines.c has its arrays: a context without counters reads as one without pages. */
struct directory {
    uint64_t capacity;
    struct page *pages[];
};

#define PLACE(member) ((uint32_t)(offsetof(struct directory, member) - LINE_ORIGIN))

/* What an evaluator's code_function.engine points to. */
static char evaluator;

/* By the core's number of a run: its place, from 1 on; and back. */
static struct {
    uint32_t *places, *runs;
    uint32_t place_capacity, run_capacity, count;
} known;

bool python_counts_apply(const struct code_function *function)
{
    return function && function->engine == &evaluator;
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

static void keep_room(uint32_t **list, uint32_t *capacity, uint32_t number)
{
    uint32_t larger = *capacity ? *capacity : 4096;
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
    keep_room(&known.places, &known.place_capacity, run);
    if (!known.places[run]) {
        keep_room(&known.runs, &known.run_capacity, known.count);
        known.runs[known.count] = run;
        known.places[run] = ++known.count;
    }
    return known.places[run] - 1;
}

/* ---- counting ---- */

void python_counts_emit(struct emitter *e, const struct line_count *count)
{
    uint32_t place = place_of(count->number), page = place / PAGE_COUNTS;
    emit_load(e, RAX, FIELD(hot.current));
    emit_bytes(e, "\x48\x83\x40", 3); /* add qword [rax + calls], instructions */
    emit_byte(e, CONTEXT(calls));
    emit_byte(e, core.blocks[count->number].instructions);
    op_memory(e, OP_LOAD, RAX, RAX, CONTEXT(counters));
    emit_bytes(e, "\x81\xb8", 2); /* cmp dword [rax + capacity], page */
    emit_u32(e, PLACE(capacity));
    emit_u32(e, page);
    jump_if(e, IF_NOT_ABOVE, count->miss);
    op_far(e, OP_LOAD, RAX, RAX, PLACE(pages) + page * sizeof(struct page *));
    op_register(e, OP_TEST, RAX, RAX);
    jump_if(e, IF_EQUAL, count->miss);
    emit_increment(e, RAX, place % PAGE_COUNTS * sizeof(uint64_t));
}

static bool is_line(const struct context *context)
{
    return context->function->flags & CODE_FUNCTION_LINE;
}

static struct directory *directory_of(const struct context *context)
{
    return context->counters != lines_no_counters()
               ? (struct directory *)(context->counters - LINE_ORIGIN)
               : NULL;
}

/* The old one stays: lines may have it. */
static struct directory *keep_capacity(struct context *owner, uint32_t page)
{
    struct directory *old = directory_of(owner);
    uint64_t capacity = old ? old->capacity : 0;
    if (page < capacity)
        return old;
    while (capacity <= page)
        capacity = 2 * capacity + 7; /* with itself, cache lines */
    struct directory *larger = arena_allocate(sizeof *larger + capacity * sizeof *larger->pages);
    larger->capacity = capacity;
    if (old)
        memcpy(larger->pages, old->pages, old->capacity * sizeof *old->pages);
    owner->counters = (uint64_t)larger + LINE_ORIGIN;
    return larger;
}

void python_counts_take_exit(struct context *context, uint32_t run)
{
    struct context *owner = is_line(context) ? context->parent : context;
    uint32_t page = place_of(run) / PAGE_COUNTS;
    struct directory *directory = keep_capacity(owner, page);
    if (!directory->pages[page])
        directory->pages[page] = arena_allocate(sizeof(struct page));
    context->calls -= core.blocks[run].instructions;
    context->counters = owner->counters;
}

uint64_t python_counts_key(struct context *context, int64_t instructions)
{
    if (!is_line(context))
        return context->key;
    context->calls += instructions;
    return context->parent->key;
}

/* ---- on their way to the core ---- */

static uint64_t count_since(const struct page *page, uint32_t i)
{
    return page->counts[i] - (page->taken ? page->taken[i] : 0);
}

static void take(struct page *page, uint32_t i, uint64_t count, bool alone)
{
    if (!page->taken && !alone)
        page->taken = arena_allocate(sizeof page->counts);
    if (page->taken)
        page->taken[i] += count;
    else
        page->counts[i] = 0;
}

/* Its lines come behind it in the tree, and say then what of this was theirs. */
static void flush_owner(struct context *context, bool alone)
{
    const struct directory *directory = directory_of(context);
    for (uint32_t i = 0; directory && i < directory->capacity; i++) {
        struct page *page = directory->pages[i];
        for (uint32_t k = 0; page && k < PAGE_COUNTS; k++) {
            uint64_t count = count_since(page, k);
            if (!count)
                continue;
            uint32_t run = known.runs[i * PAGE_COUNTS + k];
            counts_add_late(&core.counts, context->key + run, count);
            context->calls -= count * core.blocks[run].instructions;
            take(page, k, count, alone);
        }
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
    const struct directory *directory = is_line(context) ? NULL : directory_of(context);
    uint64_t instructions = 0;
    for (uint32_t i = 0; directory && i < directory->capacity; i++) {
        const struct page *page = directory->pages[i];
        for (uint32_t k = 0; page && k < PAGE_COUNTS && i * PAGE_COUNTS + k < known.count; k++)
            instructions +=
                count_since(page, k) * core.blocks[known.runs[i * PAGE_COUNTS + k]].instructions;
    }
    return instructions;
}

/* lines.c: see lines.h. */
#include "engines/native/lines.h"
#include "engines/native/assemble.h"
#include "engines/native/record.h"
#include "engines/native/translation.h"

#define SLOT_MASK ((LINE_SLOTS - 1) * (uint32_t)sizeof(struct line_slot))

static uint32_t segment_hash(uint32_t segment)
{
    return segment * 0x9e3779b1u & ~15u;
}

static struct line_slot *slot_of(const struct native_thread *thread, uint32_t segment)
{
    uint32_t hash = (context_number(thread->hot.current) << 4) + segment_hash(segment);
    return (struct line_slot *)((uint8_t *)thread->lines + (hash & SLOT_MASK));
}

/* ---- counters beside the context ---- */

/* Where a context's counters are, less EMPTY, is in its self_instructions: nothing else is counted
 * there at line detail, and what is settled adds zero. So a context that has none yet reads as one
 * with room for no counter. */
struct line_array {
    uint64_t capacity;
    uint64_t counts[];
};

#define EMPTY (CACHE_START + CACHE_CONSTANTS)

/* What the counters of a function's contexts count, by their place. */
struct line_function {
    uint32_t count, capacity;
    uint32_t large; /* contexts with more than LINE_PLACES counters */
    uint32_t *runs;
};

/* By the core's number of a run: its place in its function. */
static struct line_run {
    const struct code_function *function;
    uint32_t place;
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

static void add_place(struct line_function *of, uint32_t number)
{
    if (of->count == of->capacity) {
        uint32_t capacity = of->capacity ? 2 * of->capacity : 16;
        uint32_t *larger = arena_allocate(capacity * sizeof *larger);
        if (of->runs)
            memcpy(larger, of->runs, of->count * sizeof *larger);
        arena_release(of->runs, of->capacity * sizeof *larger);
        of->runs = larger;
        of->capacity = capacity;
    }
    of->runs[of->count++] = number;
}

static uint32_t place_limit(const struct line_function *of)
{
    return of->large < LINE_LARGE_CONTEXTS ? LINE_PLACES_MAX : LINE_PLACES;
}

/* The place of a run in the contexts of its function, from 1 on; 0: it has none. */
static uint32_t place_of(uint32_t number, struct code_function *function)
{
    if (!function)
        return 0;
    keep_run_room(number);
    if (!function->engine)
        function->engine = arena_allocate(sizeof(struct line_function));
    struct line_function *of = function->engine;
    if (runs[number].function != function) {
        if (of->count >= place_limit(of))
            return 0;
        add_place(of, number);
        runs[number] = (struct line_run){function, of->count};
    }
    return runs[number].place <= place_limit(of) ? runs[number].place : 0;
}

static struct line_array *array_of(const struct context *context)
{
    return context->self_instructions ? (struct line_array *)(context->self_instructions + EMPTY)
                                      : NULL;
}

static void grow_array(struct context *context, uint32_t place)
{
    struct line_array *old = array_of(context);
    uint64_t capacity = old ? old->capacity : 4;
    if (place > LINE_PLACES && capacity <= LINE_PLACES)
        ((struct line_function *)context->code->engine)->large++;
    while (capacity < place)
        capacity *= 2;
    struct line_array *array = arena_allocate(sizeof *array + capacity * sizeof *array->counts);
    array->capacity = capacity;
    if (old) {
        memcpy(array->counts, old->counts, old->capacity * sizeof *old->counts);
        arena_release(old, sizeof *old + old->capacity * sizeof *old->counts);
    }
    context->self_instructions = (uint64_t)array - EMPTY;
}

/* ---- what is emitted ---- */

/* The core's number of the run from `first` to the end of the segment that ends at `end`; 0: it is
 * empty. */
uint32_t lines_run(const struct translation *t, unsigned first, unsigned end)
{
    uint8_t lengths[INSTRUCTIONS_MAX];
    uint64_t address = t->pc + t->offsets[first];
    unsigned count = 0;
    for (unsigned i = first; i < end; i++)
        if (t->instructions[i].class != CLASS_REFUSED)
            lengths[count++] = t->instructions[i].length;
    struct code_module *module = code_map_peek(&core.code, address).module;
    return count ? core_block(&core, address, module, count, lengths) : 0;
}

/* That of the PLT stub that is folded into the last instruction; 0: there is none. */
uint32_t lines_stub(const struct translation *t, unsigned last)
{
    const struct instruction *branch = &t->instructions[last];
    uint8_t lengths[4];
    uint64_t slot, at;
    if (branch->class != CLASS_CALL && (branch->class != CLASS_JUMP || t->plt))
        return 0;
    uint64_t target = at = branch_target(t, last);
    unsigned count = plt_stub(target, &slot);
    for (unsigned i = 0; i < count; i++) {
        struct instruction instruction;
        instruction_decode((const uint8_t *)at, 15, &instruction);
        at += lengths[i] = instruction.length;
    }
    struct code_module *module = code_map_peek(&core.code, target).module;
    return count ? core_block(&core, target, module, count, lengths) : 0;
}

struct line_count lines_plan(uint32_t number, struct code_function *function, bool flags,
                             uint32_t exit_id)
{
    struct line_count count = {
        .number = number, .place = place_of(number, function), .flags = flags, .exit_id = exit_id};
    cache.exits[exit_id].site = number;
    cache.exits[exit_id].pops = count.place;
    count.miss = cold_exit(exit_id, flags, count.place ? 1 << RAX : ALL_THREE, 0);
    return count;
}

static void emit_placed(struct emitter *e, const struct line_count *count)
{
    op_memory(e, OP_LOAD, RAX, RAX, CONTEXT(self_instructions));
    emit_bytes(e, "\x81\xb8", 2); /* cmp dword [rax + capacity], place */
    emit_u32(e, EMPTY + offsetof(struct line_array, capacity));
    emit_u32(e, count->place);
    jump_if(e, IF_BELOW, count->miss);
    emit_bytes(e, "\x48\x83\x80", 3); /* add qword [rax + its count], 1 */
    emit_u32(e, EMPTY + offsetof(struct line_array, counts) + 8 * (count->place - 1));
    emit_byte(e, 1);
}

static void emit_hashed(struct emitter *e, const struct line_count *count)
{
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    op_register(e, OP_LOAD, RCX, RAX);
    load_context_number(e, RCX);
    emit_bytes(e, "\xc1\xe0\x04", 3); /* shl eax, 4 */
    op_constant32(e, 0, RAX, segment_hash(count->number));
    op_constant32(e, 4, RAX, SLOT_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(lines));
    emit_constant(e, RDX, count->number);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct line_slot, key));
    jump_if(e, IF_NOT_EQUAL, count->miss);
    emit_bytes(e, "\x48\x83\x40", 3); /* add qword [rax + count], 1 */
    emit_byte(e, offsetof(struct line_slot, count));
    emit_byte(e, 1);
}

void lines_emit(struct emitter *e, const struct line_count *count)
{
    cache.exits[count->exit_id].landing = e->address;
    emit_spill(e, RAX);
    if (count->flags)
        save_flags(e);
    emit_load(e, RAX, FIELD(hot.current));
    if (count->place)
        emit_placed(e, count);
    else
        emit_hashed(e, count);
    restore(e, count->flags, count->place ? 1 << RAX : ALL_THREE);
}

/* ---- counts on their way to the core ---- */

static void add_count(uint64_t key, uint64_t count)
{
    struct count *entry = &core.counts.cache[(key * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];
    if (entry->key != key)
        entry = counts_miss(&core.counts, key);
    entry->count += count;
}

static void flush_slot(struct line_slot *slot)
{
    if (slot->key && slot->count)
        add_count(slot->key, slot->count);
    *slot = (struct line_slot){0};
}

void lines_take_exit(struct native_thread *thread, const struct exit *exit)
{
    if (exit->pops) {
        grow_array(thread->hot.current, exit->pops);
        /* With many contexts, a function with many runs is to count in the table. */
        if (exit->pops > place_limit(thread->hot.current->code->engine))
            cache_remake(exit->pc);
        return;
    }
    struct line_slot *slot = slot_of(thread, exit->site);
    flush_slot(slot);
    slot->key = thread->hot.current->key + exit->site;
}

/* The array is left to itself: its thread may still be at it. Most contexts are flushed once, so
 * their counts need not be looked for in the core's table. */
static void flush_context(struct context *context)
{
    const struct line_array *array = array_of(context);
    if (!array)
        return;
    const struct line_function *of = context->code->engine;
    for (uint32_t i = 0; i < array->capacity && i < of->count; i++)
        if (array->counts[i])
            counts_add_late(&core.counts, context->key + of->runs[i], array->counts[i]);
    context->self_instructions = 0;
}

void lines_flush_contexts(void)
{
    for (uint32_t i = 0; options.line_detail && i < core.tree.count; i++)
        flush_context(tree_context(&core.tree, i));
}

uint64_t lines_beside_contexts(void)
{
    uint64_t instructions = 0;
    for (uint32_t i = 0; i < core.tree.count; i++) {
        const struct context *context = tree_context(&core.tree, i);
        const struct line_array *array = array_of(context);
        const struct line_function *of = context->code->engine;
        for (uint32_t k = 0; array && k < array->capacity && k < of->count; k++)
            instructions += array->counts[k] * core.blocks[of->runs[k]].instructions;
    }
    return instructions;
}

void lines_flush(struct native_thread *thread)
{
    if (!thread->lines)
        return;
    for (unsigned i = 0; i < LINE_SLOTS; i++)
        flush_slot(&thread->lines[i]);
}

void lines_add_part(struct native_thread *thread, uint32_t run, unsigned executed)
{
    const struct core_block *whole = &core.blocks[run];
    if (!executed)
        return;
    uint32_t part = core_block(&core, whole->address, whole->module, executed, whole->lengths);
    add_count(thread->hot.current->key + part, 1);
}

/* Counts are sums modulo 2^64, so one may be taken back before it has arrived. */
void lines_shorten(struct native_thread *thread, uint32_t run, unsigned executed)
{
    counts_add_late(&core.counts, thread->hot.current->key + run, -1ul);
    lines_add_part(thread, run, executed);
}

void lines_count_path(struct native_thread *thread, uint64_t pc, unsigned count)
{
    while (count) {
        struct instruction instruction = {.class = CLASS_ORDINARY};
        uint8_t lengths[INSTRUCTIONS_MAX];
        uint64_t start = pc;
        unsigned ran = 0;
        while (ran < count && ran < INSTRUCTIONS_MAX && instruction.class == CLASS_ORDINARY &&
               instruction_decode((const uint8_t *)pc, INSTRUCTION_LENGTH_MAX, &instruction))
            pc += lengths[ran++] = instruction.length;
        if (!ran)
            return;
        struct code_module *module = code_map_peek(&core.code, start).module;
        add_count(thread->hot.current->key + core_block(&core, start, module, ran, lengths), 1);
        count -= ran;
        pc += instruction.class == CLASS_ORDINARY ? 0 : instruction.immediate;
    }
}

/* lines.c: see lines.h. */
#include "engines/native/lines.h"
#include "engines/native/assemble.h"
#include "engines/native/foreseen.h"
#include "engines/native/line_counters.h"
#include "engines/native/python_counts.h"
#include "engines/native/record.h"
#include "engines/native/translation.h"
#include "engines/x86_64/code_reader.h"

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
    uint64_t slot;
    if (branch->class != CLASS_CALL && (branch->class != CLASS_JUMP || t->plt))
        return 0;
    uint64_t target = branch_target(t, last);
    unsigned listed = plt_stub(target, &slot), count = 0;
    struct code_reader reader;
    struct instruction instruction;
    code_reader_init(&reader, target, UINT64_MAX);
    while (count < listed && code_reader_next(&reader, &instruction))
        lengths[count++] = instruction.length;
    struct code_module *module = code_map_peek(&core.code, target).module;
    return count ? core_block(&core, target, module, count, lengths) : 0;
}

/* Which registers the sequence borrows. */
static unsigned borrowed(const struct line_count *count)
{
    if (count->evaluated)
        return count->borrow == BORROW_FREE ? 0 : 1u << count->reg;
    return count->place ? 1 << RAX : ALL_THREE;
}

static struct line_count plan_with(struct line_counter counter, struct code_function *function,
                                   bool flags, uint32_t exit_id, enum line_borrow borrow,
                                   unsigned reg)
{
    struct line_count count = {
        .number = counter.run, .flags = flags, .exit_id = exit_id, .borrow = borrow, .reg = reg};
    count.evaluated = function && python_counts_begin(function);
    count.place = count.evaluated ? 0 : line_counters_place(counter, function);
    cache.exits[exit_id].site = count.number;
    cache.exits[exit_id].pops = count.place;
    cache.exits[exit_id].slot = count.evaluated;
    count.miss = cold_exit(exit_id, flags, borrowed(&count), 0);
    return count;
}

static struct line_count plan(struct line_counter counter, struct code_function *function,
                              bool flags, uint32_t exit_id)
{
    return plan_with(counter, function, flags, exit_id, BORROW_SPILLED, RAX);
}

struct line_count lines_plan(uint32_t number, struct code_function *function, bool flags,
                             uint32_t exit_id)
{
    struct line_count count = plan((struct line_counter){number, 0}, function, flags, exit_id);
    count.is_python = true;
    return count;
}

static struct code_function *counting_function(const struct translation *t)
{
    return t->plt ? NULL : t->function;
}

bool lines_have_room(const struct translation *t, uint32_t number, uint32_t stub)
{
    struct code_function *function = counting_function(t);
    if (function && python_counts_begin(function))
        return false;
    uint32_t place =
        number ? line_counters_place((struct line_counter){number, stub}, function) : 0;
    return place && !t->python && line_counters_have_room(function, place);
}

struct line_count lines_plan_run(struct translation *t, unsigned index, uint32_t number,
                                 uint32_t stub, bool flags)
{
    struct line_counter counter = {number, stub};
    struct code_function *function = counting_function(t);
    if (lines_have_room(t, number, stub))
        return (struct line_count){.number = number,
                                   .place = line_counters_place(counter, function),
                                   .flags = flags,
                                   .borrow = BORROW_SPILLED,
                                   .has_room = true};
    struct line_count count = plan(counter, function, flags, new_exit(t, index, EXIT_COUNT, 0));
    count.is_python = t->python;
    return count;
}

struct line_count lines_plan_evaluated(struct translation *t, unsigned index, uint32_t number,
                                       enum line_borrow borrow, unsigned reg)
{
    struct line_count count = plan_with((struct line_counter){number, 0}, t->function, false,
                                        new_exit(t, index, EXIT_COUNT, 0), borrow, reg);
    count.is_python = true;
    return count;
}

static int count_offset(const struct line_count *count)
{
    return 8 * ((int)count->place - 1) + (int)offsetof(struct line_array, counts) - LINE_ORIGIN;
}

void lines_emit_folded(struct emitter *e, const struct line_count *count, unsigned reg)
{
    if (!count->place)
        return;
    emit_load(e, reg, FIELD(counters));
    if (count->flags)
        vectors_emit_increment(e, reg, count_offset(count));
    else
        emit_increment(e, reg, count_offset(count));
}

uint64_t lines_cold_folded(const struct line_count *count, uint64_t to)
{
    struct line_count with_flags = *count;
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    with_flags.flags = true;
    lines_emit(&cold, &with_flags);
    emit_jump(&cold, to);
    cold_end(&cold);
    return address;
}

static void emit_placed(struct emitter *e, const struct line_count *count)
{
    if (count->is_python) {
        emit_load(e, RAX, FIELD(hot.current));
        op_memory(e, OP_LOAD, RAX, RAX, CONTEXT(counters));
    } else {
        emit_load(e, RAX, FIELD(counters));
    }
    emit_bytes(e, "\x81\xb8", 2); /* cmp dword [rax + capacity], place */
    emit_u32(e, (int)offsetof(struct line_array, capacity) - LINE_ORIGIN);
    emit_u32(e, count->place);
    jump_if(e, IF_BELOW, count->miss);
    emit_increment(e, RAX, count_offset(count));
}

static void emit_hashed(struct emitter *e, const struct line_count *count)
{
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    emit_load(e, RCX, FIELD(hot.current));
    load_context_number(e, RCX);
    emit_bytes(e, "\xc1\xe0\x04", 3); /* shl eax, 4 */
    op_constant32(e, 0, RAX, segment_hash(count->number));
    op_constant32(e, 4, RAX, SLOT_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(lines));
    emit_constant(e, RDX, count->number);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct line_slot, key));
    jump_if(e, IF_NOT_EQUAL, count->miss);
    emit_increment(e, RAX, offsetof(struct line_slot, count));
}

void lines_emit(struct emitter *e, const struct line_count *count)
{
    if (count->has_room) {
        if (count->borrow != BORROW_FREE)
            emit_spill(e, count->reg);
        lines_emit_folded(e, count, count->reg);
        if (count->borrow == BORROW_SPILLED)
            emit_unspill(e, count->reg);
        return;
    }
    cache.exits[count->exit_id].landing = e->address;
    if (count->borrow != BORROW_FREE)
        emit_spill(e, count->reg);
    if (count->flags)
        save_flags(e);
    if (count->evaluated)
        python_counts_emit(e, count);
    else if (count->place)
        emit_placed(e, count);
    else
        emit_hashed(e, count);
    restore(e, count->flags, count->borrow == BORROW_SPILLED ? borrowed(count) : 0);
    if (count->evaluated) /* counted by then */
        cache.exits[count->exit_id].landing = e->address;
}

void lines_emit_place(struct emitter *e, uint32_t place, bool flags)
{
    lines_emit(e, &(struct line_count){
                      .place = place, .flags = flags, .has_room = true, .borrow = BORROW_SPILLED});
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
    if (!slot->key)
        return;
    if (slot->count)
        add_count(slot->key, slot->count);
    *slot = (struct line_slot){0};
}

void lines_take_exit(struct native_thread *thread, struct exit *exit)
{
    if (exit->slot) {
        python_counts_take_exit(thread, exit);
        return;
    }
    if (exit->pops) {
        if (!line_counters_grow(thread->hot.current, exit->pops))
            cache_remake(exit->pc); /* to count in the table */
        return;
    }
    struct line_slot *slot = slot_of(thread, exit->site);
    flush_slot(slot);
    slot->key = thread->hot.current->key + exit->site;
}

void lines_flush(struct native_thread *thread)
{
    if (!thread->lines)
        return;
    for (unsigned i = 0; i < LINE_SLOTS; i++)
        flush_slot(&thread->lines[i]);
}

/* To count so many instructions with, past the counters. */
static uint64_t counting_key(const struct native_thread *thread, int64_t instructions)
{
    struct context *context = thread->hot.current;
    return python_counts_apply(context->code) ? python_counts_key(context, instructions)
                                              : context->key;
}

void lines_add_part(struct native_thread *thread, uint32_t run, unsigned executed)
{
    const struct core_block *whole = &core.blocks[run];
    if (!executed)
        return;
    uint32_t part = core_block(&core, whole->address, whole->module, executed, whole->lengths);
    add_count(counting_key(thread, executed) + part, 1);
}

/* Counts are sums modulo 2^64, so one may be taken back before it has arrived. */
void lines_shorten(struct native_thread *thread, uint32_t run, unsigned executed)
{
    uint64_t key = counting_key(thread, -(int64_t)core.blocks[run].instructions);
    counts_add_late(&core.counts, key + run, -1ul);
    if (line_counters_stub(run))
        counts_add_late(&core.counts, key + line_counters_stub(run), -1ul);
    lines_add_part(thread, run, executed);
}

void lines_count_path(struct native_thread *thread, uint64_t pc, unsigned count)
{
    struct code_reader reader;
    code_reader_init(&reader, pc, UINT64_MAX);
    while (count) {
        struct instruction instruction = {.class = CLASS_ORDINARY};
        uint8_t lengths[INSTRUCTIONS_MAX];
        uint64_t start = reader.at;
        unsigned ran = 0;
        while (ran < count && ran < INSTRUCTIONS_MAX && instruction.class == CLASS_ORDINARY &&
               code_reader_next(&reader, &instruction))
            lengths[ran++] = instruction.length;
        if (!ran)
            return;
        struct code_module *module = code_map_peek(&core.code, start).module;
        add_count(counting_key(thread, ran) + core_block(&core, start, module, ran, lengths), 1);
        count -= ran;
        reader.at += instruction.class == CLASS_ORDINARY ? 0 : instruction.immediate;
    }
}

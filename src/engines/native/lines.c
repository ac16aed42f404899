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

void lines_emit_count(struct emitter *e, uint32_t segment, bool flags, uint32_t exit_id)
{
    uint64_t miss = cold_exit(exit_id, flags, ALL_THREE, 0);
    cache.exits[exit_id].landing = e->address;
    cache.exits[exit_id].site = segment;
    emit_spill(e, RAX);
    if (flags)
        save_flags(e);
    emit_spill(e, RCX);
    emit_spill(e, RDX);
    emit_load(e, RCX, FIELD(hot.current));
    load_context_number(e, RCX);
    emit_bytes(e, "\xc1\xe0\x04", 3); /* shl eax, 4 */
    op_constant32(e, 0, RAX, segment_hash(segment));
    op_constant32(e, 4, RAX, SLOT_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(lines));
    emit_constant(e, RDX, segment);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct line_slot, key));
    jump_if(e, IF_NOT_EQUAL, miss);
    emit_bytes(e, "\x48\x83\x40", 3); /* add qword [rax + count], 1 */
    emit_byte(e, offsetof(struct line_slot, count));
    emit_byte(e, 1);
    restore(e, flags, ALL_THREE);
}

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

void lines_take_slot(struct native_thread *thread, uint32_t segment)
{
    struct line_slot *slot = slot_of(thread, segment);
    flush_slot(slot);
    slot->key = thread->hot.current->key + segment;
}

void lines_flush(struct native_thread *thread)
{
    if (!thread->lines)
        return;
    for (unsigned i = 0; i < LINE_SLOTS; i++)
        flush_slot(&thread->lines[i]);
}

/* Counts are sums modulo 2^64, so one may be taken back before it has arrived. */
void lines_shorten(struct native_thread *thread, uint32_t segment, unsigned executed)
{
    const struct core_block *whole = &core.blocks[segment];
    uint64_t key = thread->hot.current->key;
    add_count(key + segment, -1ul);
    if (!executed)
        return;
    uint32_t part = core_block(&core, whole->address, whole->module, executed, whole->lengths);
    add_count(key + part, 1);
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
        struct code_module *module = code_map_find(&core.code, start).module;
        add_count(thread->hot.current->key + core_block(&core, start, module, ran, lengths), 1);
        count -= ran;
        pc += instruction.class == CLASS_ORDINARY ? 0 : instruction.immediate;
    }
}

#include "counters.h"
#include "ir.h"

#include "core/platform.h"

#include <stddef.h>

#define GROUP_BLOCKS 14
#define GROUPS       (1u << 17)
#define MOST_BLOCKS  (1u << 30) /* from one time that all are moved to the next */

struct group {
    uint64_t key;                 /* 0: none */
    int32_t counts[GROUP_BLOCKS]; /* below 0: taken back after the others were moved */
};

#define GROUP_BYTES sizeof(struct group)
_Static_assert(sizeof(struct group) == 64, "a cache line");

/* Static, because its address then fits into the operand of an instruction. */
static struct group groups[GROUPS] __attribute__((aligned(64)));

/* ---- blocks of an evaluator ---- */

/* By block; what was said first holds for good. */
enum { UNSAID, PLAIN, EVALUATED };
static UChar *kinds;
static uint32_t kind_capacity;

void counters_set_evaluated(uint32_t block, Bool evaluated)
{
    uint32_t capacity = kind_capacity ? kind_capacity : 8192;

    if (block >= kind_capacity) {
        while (capacity <= block)
            capacity *= 2;
        UChar *larger = platform_allocate(capacity);
        for (uint32_t i = 0; i < kind_capacity; i++)
            larger[i] = kinds[i];
        platform_release(kinds, kind_capacity);
        kinds = larger;
        kind_capacity = capacity;
    }
    if (kinds[block] == UNSAID)
        kinds[block] = evaluated ? EVALUATED : PLAIN;
}

Bool counters_is_evaluated(uint32_t block)
{
    return block < kind_capacity && kinds[block] == EVALUATED;
}

void counters_context_made(struct context *context)
{
    context->counters = context_is_line(context) ? context->parent->key : context->key;
}

/* What lines ran is among what their functions did. */
static void flush_lines(void)
{
    for (uint32_t i = core.tree.inherited; core.options.python_lines && i < core.tree.count; i++) {
        struct context *context = tree_context(&core.tree, i);
        if (!context_is_line(context) || !context->calls)
            continue;
        counts_add_late(&core.counts, context->key, context->calls);
        context->parent->calls += context->calls;
        context->calls = 0;
    }
}

/* ---- groups ---- */

static uint64_t group_key(const struct context *context, uint32_t block)
{
    uint64_t key = counters_is_evaluated(block) ? context->counters : context->key;

    return key + block / GROUP_BLOCKS * GROUP_BYTES;
}

static struct group *group_at(uint64_t key)
{
    return &groups[key / GROUP_BYTES % GROUPS];
}

static void empty(struct group *group)
{
    uint64_t context = tree_key(group->key >> 32);
    uint64_t first = (group->key - context) / GROUP_BYTES * GROUP_BLOCKS;

    for (UInt i = 0; group->key && i < GROUP_BLOCKS; i++) {
        uint64_t count = (uint64_t)(int64_t)group->counts[i];
        if (!count)
            continue;
        counts_add_late(&core.counts, context + first + i, count);
        if (counters_is_evaluated(first + i))
            tree_context(&core.tree, group->key >> 32)->calls -=
                count * core.blocks[first + i].instructions;
        group->counts[i] = 0;
    }
}

VG_REGPARM(1) void slow_count(ULong key)
{
    struct group *group = group_at(key);

    empty(group);
    group->key = key;
}

void counters_flush(void)
{
    for (UInt i = 0; i < GROUPS; i++) {
        empty(&groups[i]);
        groups[i].key = 0;
    }
    flush_lines();
}

void counters_keep_room(ULong blocks)
{
    static ULong moved_at;

    if (!core.options.line_detail || blocks - moved_at < MOST_BLOCKS)
        return;
    counters_flush();
    moved_at = blocks;
}

void counters_add(struct context *context, uint32_t block, int64_t times)
{
    uint64_t key = group_key(context, block);

    if (counters_is_evaluated(block))
        context->calls += (uint64_t)times * core.blocks[block].instructions;
    if (group_at(key)->key != key)
        slow_count(key);
    group_at(key)->counts[block % GROUP_BLOCKS] += (int32_t)times;
}

uint64_t counters_get(const struct context *context, uint32_t block)
{
    uint64_t key = group_key(context, block);
    const struct group *group = group_at(key);
    int64_t here = group->key == key ? group->counts[block % GROUP_BLOCKS] : 0;

    uint64_t counted = counters_is_evaluated(block) ? context->counters : context->key;
    return (uint64_t)here + counts_get(&core.counts, counted + block);
}

void counters_emit(const struct block_info *info, const struct segment *segment, IRExpr *current,
                   IRExpr *times, Bool evaluated)
{
    IRExpr *instructions = times->tag == Iex_Const
                               ? ir_word(segment->instructions)
                               : ir_op(Iop_Mul64, times, ir_word(segment->instructions));

    if (engine_counts_instructions())
        ir_set_hot(HOT(instructions), ir_op(Iop_Add64, ir_hot(HOT(instructions)), instructions));
    if (!core.options.line_detail) {
        ir_add_to(current, offsetof(struct context, self_instructions), instructions);
        return;
    }
    UInt block = core_block(&core, segment->address, info->module, segment->instructions,
                            info->lengths + segment->first_length);
    counters_set_evaluated(block, evaluated);
    evaluated = counters_is_evaluated(block);
    if (evaluated)
        ir_add_to(current, offsetof(struct context, calls), instructions);
    IRExpr *of = ir_load(current, evaluated ? offsetof(struct context, counters)
                                            : offsetof(struct context, key));
    IRExpr *key = ir_op(Iop_Add64, of, ir_word(block / GROUP_BLOCKS * GROUP_BYTES));
    IRExpr *group = ir_op(Iop_And64, key, ir_word((GROUPS - 1) * GROUP_BYTES));
    IRExpr *other = ir_op(Iop_CmpNE64, key, ir_load(group, (Addr)groups));
    IR_CALL_IF(other, slow_count, mkIRExprVec_1(key));
    ir_add_to_half(group, (Addr)&groups->counts[block % GROUP_BLOCKS], times);
}

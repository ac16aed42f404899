/* stopped.c: see stopped.h. */
#include "engines/native/stopped.h"
#include "engines/native/cache.h"
#include "engines/native/fast.h"
#include "engines/native/lines.h"
#include "engines/native/record.h"
#include "engines/native/signal_frames.h"
#include "engines/native/turns.h"
#include "engines/native/vectors.h"
#include "engines/x86_64/decode.h"

/* The newest mark at or before the address; NULL outside of blocks. */
static const struct mark *mark_at(const struct block *block, uint32_t offset)
{
    size_t low = 0, high = block->mark_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (block->marks[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &block->marks[low - 1] : NULL;
}

bool recover_from_check(struct sigcontext *context)
{
    const uint8_t *at = (const uint8_t *)context->rip;
    const struct block *block = cache_find_code(context->rip);
    const struct mark *mark =
        block ? mark_at(block, context->rip - CACHE_START - block->code) : NULL;
    struct instruction compare, branch;
    if (!mark || mark->kind != MARK_CHECK ||
        !instruction_decode(at, INSTRUCTION_LENGTH_MAX, &compare) ||
        !instruction_decode(at + compare.length, INSTRUCTION_LENGTH_MAX, &branch))
        return false;
    context->rip += compare.length + branch.length + branch.immediate;
    return true;
}

/* A run was counted as a whole, or is still to be. */
static void count_part(struct native_thread *thread, const struct block *block,
                       const struct mark *mark)
{
    uint32_t segment = block->segments[mark->segment];
    uint64_t start = core.blocks[segment].address;
    unsigned executed = 0;
    for (const uint8_t *length = core.blocks[segment].lengths; start < thread->pc; executed++)
        start += *length++;
    if (mark->ahead > 0)
        lines_shorten(thread, segment, executed);
    else
        lines_add_part(thread, segment, executed);
}

bool take_program_state(struct native_thread *thread, struct sigcontext *context, bool fault)
{
    const struct block *block = cache_find_code(context->rip);
    if (!block)
        return false;
    uint32_t offset = context->rip - CACHE_START - block->code;
    const struct mark *mark = mark_at(block, offset);
    if (!mark || mark->kind != MARK_PROGRAM || mark->offset != offset || (mark->looked && !fault))
        return false;
    registers_from_frame(thread, context);
    if (!mark->given)
        vectors_give_in_frame(thread, context);
    else if (mark->spilled & MARK_LOWER)
        vectors_add_upper_in_frame(thread, context);
    fast_stopped(thread);
    for (unsigned i = 0; i < 16; i++)
        if ((mark->spilled & ~MARK_LOWER) >> i & 1)
            thread->registers[i] = thread->spill[i];
    thread->pc = block->pc + mark->pc_offset;
    turns_take_back(thread, mark->ahead);
    thread->in_leaf = block->flags & BLOCK_LEAF;
    if (thread->in_leaf)
        thread->leaf_instructions -= mark->ahead;
    else if (!options.line_detail)
        thread->instructions -= mark->ahead;
    else if (mark->ahead)
        count_part(thread, block, mark);
    return true;
}

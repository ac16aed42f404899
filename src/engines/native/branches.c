/* branches.c: see branches.h. */
#include "engines/native/branches.h"
#include "engines/native/record.h"
#include "engines/native/vectors.h"

uint32_t emit_jump_exit(struct translation *t, unsigned index, uint64_t target)
{
    uint32_t id = new_exit(t, index, EXIT_JUMP, target);
    emit_align_patch(&t->code, 1);
    emit_byte(&t->code, 0xe9);
    emit_linkable(&t->code, id);
    return id;
}

/* The branch is taken to where what is still uncounted is counted: behind the block, as that is in
 * the same page. */
static void emit_counting_branch(struct translation *t, unsigned index)
{
    struct side_exit *side = &t->sides[t->side_count++];
    *side = (struct side_exit){.index = index, .uncounted = t->uncounted};
    if (options.line_detail)
        side->count = lines_plan_run(t, index, t->segments[t->segment_count - 1], 0,
                                     !flags_dead_at_target(t, index));
    emit_byte(&t->code, 0x0f);
    emit_byte(&t->code, 0x80 | (t->instructions[index].opcode & 15));
    side->branch = t->code;
    emit_u32(&t->code, 0);
}

/* The branch may lead straight to a block that begins with the same count, and then is the only one
 * that is taken. Unless its displacement straddles two cache lines. */
static void note_branch(const struct side_exit *side, uint32_t id, uint64_t counted_at)
{
    struct exit *exit = &cache.exits[id];
    bool knows_place = side->count.has_room && side->count.borrow == BORROW_SPILLED;
    if ((options.line_detail && !knows_place) || (side->branch.address & 63) > 60)
        return;
    exit->branch = side->branch.address - CACHE_START;
    exit->before = options.line_detail ? side->count.place : side->uncounted;
    exit->landing = counted_at;
}

void emit_side_exits(struct translation *t)
{
    struct emitter *e = &t->code;
    if (!t->side_count)
        return;
    /* Behind a branch that is always taken the block is at no state of the program. */
    if (t->marks[t->mark_count - 1].offset == e->address - CACHE_START - cache.hot)
        t->mark_count--;
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    for (unsigned i = 0; i < t->side_count; i++) {
        const struct side_exit *side = &t->sides[i];
        struct emitter branch = side->branch;
        uint64_t counted_at = e->address;
        emit_u32(&branch, counted_at - (branch.address + 4));
        if (options.line_detail)
            lines_emit(e, &side->count);
        else
            vectors_emit_count(e, side->uncounted);
        note_branch(side, emit_jump_exit(t, side->index, branch_target(t, side->index)),
                    counted_at);
    }
}

void emit_conditional(struct translation *t, unsigned index)
{
    if (t->uncounted) {
        emit_counting_branch(t, index);
        return;
    }
    emit_align_patch(&t->code, 2);
    emit_byte(&t->code, 0x0f);
    emit_byte(&t->code, 0x80 | (t->instructions[index].opcode & 15));
    emit_linkable(&t->code, new_exit(t, index, EXIT_JUMP, branch_target(t, index)));
}

/* loop and jrcxz reach 127 bytes only:   loop taken;  jmp on;  taken: jmp rel32;  on: */
void emit_loop(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    emit_align_patch(e, 6);
    if (t->instructions[index].prefixes & PREFIX_67)
        emit_byte(e, 0x67);
    emit_byte(e, t->instructions[index].opcode);
    emit_byte(e, 2);
    uint8_t *on = e->out;
    emit_bytes(e, "\xeb\x05", 2);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_jump_exit(t, index, branch_target(t, index));
    on[1] = e->out - (on + 2);
}

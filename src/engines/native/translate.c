/*
 * translate.c: see translate.h.
 *
 * A block is a run of instructions with one entry. It goes through conditional branches that are
 * not taken, up to a few, and ends at anything else that moves control. Between two branches
 * every instruction runs or none does: a segment. A segment is counted by one add to a vector
 * register (vectors.h), before its last instruction or by the sequence that this becomes;
 * marks (cache.h) say at every instruction how far the count is ahead.
 */
#include "engines/native/translate.h"
#include "core/python.h"
#include "engines/native/assemble.h"
#include "engines/native/foreseen.h"
#include "engines/native/jumps.h"
#include "engines/native/leaves.h"
#include "engines/native/line_place.h"
#include "engines/native/local.h"
#include "engines/native/lines.h"
#include "engines/native/maps.h"
#include "engines/native/python_fast.h"
#include "engines/native/python_stores.h"
#include "engines/native/python_watch.h"
#include "engines/native/record.h"
#include "engines/native/repeatable.h"
#include "engines/native/requests.h"
#include "engines/native/translation.h"
#include "engines/native/turns.h"
#include <sys/mman.h>

#define CHECKED_MAX 24 /* instructions of a block that is compared at every entry */
#define DENSE_AFTER (1u << 20)

/* One translation at a time: the cache's lock is held. */
static struct translation translation;

/* What follows a call is part of the block if it is of the same function: not so behind calls
 * that never return. */
static bool goes_on_after_call(const struct translation *t, uint64_t next)
{
    struct code_place place = code_map_peek(&core.code, next);
    return !t->plt && !t->checked && !place.plt && place.function == t->function &&
           (t->function || place.module->kind == CODE_ANONYMOUS);
}

static bool ends_block(const struct translation *t, const struct instruction *instruction,
                       uint64_t next)
{
    switch (instruction->class) {
    case CLASS_ORDINARY:
    case CLASS_JUMP_IF:
    case CLASS_LOOP:
        return false;
    case CLASS_CALL:
        return instruction->immediate && !goes_on_after_call(t, next);
    case CLASS_CALL_INDIRECT:
        return !goes_on_after_call(t, next);
    default:
        return true;
    }
}

static bool is_branch(const struct instruction *instruction)
{
    return instruction->class != CLASS_ORDINARY;
}

/* Does what follows count on its own? */
static bool ends_segment(const struct translation *t, unsigned index)
{
    return is_branch(&t->instructions[index]) || python_cuts(t, index);
}

/* Where the function ends that the block is in: to run on into another one is a jump. */
static uint64_t function_end(const struct translation *t)
{
    if (!t->function)
        return UINT64_MAX;
    uint64_t bias = t->function->module->bias;
    uint64_t start = t->function->start + bias, end = t->function->end + bias;
    return t->pc >= start && t->pc < end ? end : 0;
}

static bool leaves_function(const struct translation *t, uint64_t next, uint64_t end)
{
    if (next < end)
        return false;
    struct code_place place = code_map_peek(&core.code, next);
    return place.function != t->function || place.plt != t->plt;
}

static void decode_block(struct translation *t)
{
    uint64_t end = maps_executable_end(t->pc), within = function_end(t);
    unsigned branches = 0, at = 0;
    t->end = END_CUT;
    if (end <= t->pc)
        t->end = END_UNMAPPED;
    unsigned most = t->checked ? CHECKED_MAX : INSTRUCTIONS_MAX;
    if (t->part)
        most = t->part < most ? t->part : most;
    while (t->end == END_CUT && t->count < most && branches < BRANCHES_MAX) {
        struct instruction *instruction = &t->instructions[t->count];
        uint64_t left = end - (t->pc + at);
        if (left == 0 || (t->count && leaves_function(t, t->pc + at, within)))
            break;
        if (!instruction_decode(t->source + at, left < 15 ? left : 15, instruction)) {
            if (t->count == 0)
                t->end = left < 15 ? END_UNMAPPED : END_ILLEGAL;
            break;
        }
        t->offsets[t->count] = at;
        if (t->leaf && leaves_end_at(t, t->count)) {
            t->end = END_LEAF;
            break;
        }
        if (options.repeatable && repeatable_wants(instruction))
            instruction->class = CLASS_EMULATED;
        if (t->part && is_branch(instruction))
            break;
        t->offsets[t->count++] = at;
        at += instruction->length;
        t->offsets[t->count] = at;
        if (ends_segment(t, t->count - 1))
            branches++;
        python_note_jump(t, t->count - 1);
        if (requests_end_at(t->source + at, at))
            t->end = END_REQUEST;
        if (ends_block(t, instruction, t->pc + at))
            t->end = END_BRANCH;
    }
    if (t->part)
        t->end = END_BUDGET;
    t->offsets[t->count] = at;
    t->source_size = at;
}

/* A state of the program stays one though the engine's code begins there: it has not begun. */
void add_mark(struct translation *t, enum mark_kind kind, unsigned pc_offset, unsigned spilled,
              int ahead)
{
    const struct mark *last = t->mark_count ? &t->marks[t->mark_count - 1] : NULL;
    unsigned offset = t->code.address - CACHE_START - cache.hot;
    bool after =
        last && kind == MARK_ENGINE && last->kind == MARK_PROGRAM && last->offset == offset;
    t->marks[t->mark_count++] = (struct mark){
        .offset = offset + after,
        .kind = kind,
        .spilled = spilled,
        .given = t->given,
        .looked = t->looked,
        .ahead = ahead,
        .pc_offset = pc_offset,
        .segment = t->segment_count ? t->segment_count - 1 : 0,
    };
}

uint32_t new_exit(struct translation *t, unsigned index, enum exit_kind kind, uint64_t target)
{
    uint32_t id = cache_add_exit();
    struct exit *exit = &cache.exits[id];
    exit->kind = kind;
    exit->block = t->block;
    exit->target = target;
    if (index < t->count) {
        exit->pc = t->pc + t->offsets[index];
        exit->length = t->instructions[index].length;
        exit->refusal = t->instructions[index].refusal;
    }
    return id;
}

void emit_stub(struct emitter *e, uint32_t id)
{
    emit_bytes(e, "\x65\xc7\x04\x25", 4);
    emit_u32(e, THREAD_EXIT_ID);
    emit_u32(e, id);
    emit_bytes(e, "\x65\xff\x24\x25", 4);
    emit_u32(e, THREAD_EXIT_ENTRY);
}

void emit_report(struct translation *t, unsigned index, enum exit_kind kind)
{
    uint32_t id = new_exit(t, index, kind, t->pc + t->offsets[index]);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_stub(&t->code, id);
    cache.exits[id].landing = t->code.address;
    cache.exits[id].pops = t->uncounted;
}

void emit_linkable(struct emitter *e, uint32_t id)
{
    struct exit *exit = &cache.exits[id];
    cache.stubs -= STUB_BYTES;
    struct emitter stub = {cache_writable(cache.stubs), CACHE_START + cache.stubs};
    emit_stub(&stub, id);
    exit->stub = cache.stubs;
    exit->patch = e->address - CACHE_START;
    emit_u32(e, CACHE_START + exit->stub - (e->address + 4));
}

uint64_t branch_target(const struct translation *t, unsigned index)
{
    return t->pc + t->offsets[index + 1] + t->instructions[index].immediate;
}

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
                                     !flags_dead_at(branch_target(t, index)));
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

static void emit_side_exits(struct translation *t)
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

static void emit_conditional(struct translation *t, unsigned index)
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
static void emit_loop(struct translation *t, unsigned index)
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

/* The vector registers are the program's from here on, or the cache's. */
static void give_vectors(struct translation *t, bool given)
{
    if (given == t->given)
        return;
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    uint64_t loads[VECTORS_BORROWED];
    if (given)
        vectors_emit_give(&t->code);
    else
        vectors_emit_take(&t->code, loads);
    t->given = given;
}

static void emit_limited_state(struct translation *t, unsigned index, const struct copy *copy)
{
    unsigned spilled = 1 << REGISTER_RAX;
    emit_spill(&t->code, REGISTER_RAX);
    add_mark(t, MARK_PROGRAM, t->offsets[index], spilled, t->ahead);
    vectors_emit_limit_state(&t->code);
    add_mark(t, MARK_PROGRAM, t->offsets[index], spilled, t->ahead);
    copy_emit_body(&t->code, copy);
    add_mark(t, MARK_PROGRAM, t->offsets[index + 1], spilled, t->ahead - 1);
    emit_unspill(&t->code, REGISTER_RAX);
}

static void emit_ordinary(struct translation *t, unsigned index)
{
    struct emitter *e = &t->code;
    const struct instruction *instruction = &t->instructions[index];
    unsigned here = t->offsets[index];
    struct copy copy;
    copy_plan(instruction, t->source + here, t->pc + here, e->address, &copy);
    if (copy.scratch < 0 && repeatable_limits_state(instruction)) {
        emit_limited_state(t, index, &copy);
        return;
    }
    if (copy.scratch < 0) {
        copy_emit_body(e, &copy);
        return;
    }
    bool is_lea = instruction->encoding == ENCODING_LEGACY && instruction->map == 0 &&
                  instruction->opcode == 0x8d && !(instruction->prefixes & PREFIX_66);
    if (is_lea) {
        bool wide = instruction->rex & 8;
        emit_constant(e, instruction_reg(instruction),
                      wide ? copy.operand : (uint32_t)copy.operand);
        return;
    }
    unsigned spilled = 1 << copy.scratch;
    emit_spill(e, copy.scratch);
    add_mark(t, MARK_PROGRAM, here, spilled, t->ahead);
    emit_constant(e, copy.scratch, copy.operand);
    add_mark(t, MARK_PROGRAM, here, spilled, t->ahead);
    copy_emit_body(e, &copy);
    add_mark(t, MARK_PROGRAM, t->offsets[index + 1], spilled, t->ahead - 1);
    emit_unspill(e, copy.scratch);
}

static void emit_instruction(struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    uint64_t next = t->pc + t->offsets[index + 1], slot;
    uint32_t id;
    switch (instruction->class) {
    case CLASS_ORDINARY:
        emit_ordinary(t, index);
        if (t->end == END_REQUEST && index + 1 == t->count) {
            give_vectors(t, false);
            emit_stub(&t->code, new_exit(t, index, EXIT_REQUEST, next));
        }
        break;
    case CLASS_JUMP:
        if (plt_stub(branch_target(t, index), &slot) && !t->plt)
            emit_indirect_jump(t, index);
        else
            emit_jump_exit(t, index, branch_target(t, index));
        break;
    case CLASS_JUMP_IF:
        emit_conditional(t, index);
        break;
    case CLASS_LOOP:
        emit_loop(t, index);
        break;
    case CLASS_JUMP_INDIRECT:
        emit_indirect_jump(t, index);
        break;
    case CLASS_CALL:
    case CLASS_CALL_INDIRECT:
        emit_call(t, index);
        break;
    case CLASS_RETURN:
        emit_return(t, index);
        break;
    case CLASS_SYSCALL:
        add_mark(t, MARK_ENGINE, 0, 0, 0);
        id = new_exit(t, index, EXIT_SYSCALL, next);
        cache.exits[id].site = t->segments[t->segment_count - 1];
        emit_stub(&t->code, id);
        break;
    case CLASS_EMULATED:
        add_mark(t, MARK_ENGINE, 0, 0, 0);
        emit_stub(&t->code, new_exit(t, index, EXIT_EMULATED, next));
        break;
    case CLASS_TRANSACTION: /* always aborts: eax = 0, on to the fallback */
        emit_constant(&t->code, REGISTER_RAX, 0);
        emit_jump_exit(t, index, branch_target(t, index));
        break;
    case CLASS_REFUSED:
        emit_stub(&t->code, new_exit(t, index, EXIT_REFUSED, t->pc + t->offsets[index]));
        break;
    }
}

/* One past the last instruction of the segment that begins at `first`. */
static unsigned segment_end(const struct translation *t, unsigned first)
{
    for (unsigned i = first; i < t->count; i++)
        if (ends_segment(t, i))
            return i + 1;
    return t->count;
}

static void emit_line_count(struct translation *t, unsigned place, uint32_t number, uint32_t stub)
{
    if (!number)
        return;
    struct line_count count = lines_plan_run(t, place, number, stub, !flags_dead(t, place));
    lines_emit(&t->code, &count);
    if (!count.place)
        emit_line_count(t, place, stub, 0);
}

/* The number of instructions a segment runs, with a PLT stub that is folded into the last. */
static unsigned segment_instructions(const struct translation *t, unsigned first, unsigned end)
{
    const struct instruction *last = &t->instructions[end - 1];
    uint64_t slot;
    unsigned count = end - first;
    if (last->class == CLASS_REFUSED)
        count--;
    if (last->class == CLASS_CALL || (last->class == CLASS_JUMP && !t->plt))
        count += plt_stub(branch_target(t, end - 1), &slot);
    return count;
}

/* Before the last instruction, but not between one that sets flags and its branch: processors
 * make one of the two. To count lines, the last place where the flags are dead. */
static unsigned count_place(const struct translation *t, unsigned first, unsigned end)
{
    first = line_place_first(t, first, end);
    for (unsigned i = end; options.line_detail && i-- > first;)
        if (flags_dead(t, i))
            return i;
    bool pair = end - first >= 2 && t->instructions[end - 1].class == CLASS_JUMP_IF &&
                t->instructions[end - 2].flags_killed;
    return end - (pair ? 2 : 1);
}

/* What a PLT stub runs, `stub` instructions, is for the frame that is current by then. */
static void emit_python_last(struct translation *t, unsigned last, unsigned stub)
{
    t->looked = options.line_detail && t->frame_stored;
    python_emit_before(t, last, options.line_detail ? 0 : stub);
    if (!options.line_detail || !stub)
        return;
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_line_count(t, last, lines_stub(t, last), 0);
}

unsigned counts_at_landing(const struct translation *t, unsigned index)
{
    if (turns_are_on() || options.line_detail || t->python)
        return 0;
    return segment_instructions(t, index + 1, segment_end(t, index + 1));
}

/*
 * How a segment is counted, with what segments before it have left uncounted:
 *   - by the landing before it, if there is one: t->uncounted is then less than nothing;
 *   - by the sequence of its last instruction;
 *   - not at all, if it ends in a forward branch: that is taken by way of cold code which counts,
 *     and the next segment counts for both. But a run is one context's: where a Python frame is
 *     looked for, what ran by then is counted before that;
 *   - by an add before its last instruction: a block begins with a state of the program, where a
 *     signal that came on the way to it can be delivered at once.
 */
static void emit_segment(struct translation *t, unsigned first, unsigned end)
{
    const struct instruction *last = &t->instructions[end - 1];
    unsigned counted = segment_instructions(t, first, end);
    bool lines = options.line_detail;
    bool whole = turns_are_on(); /* counted before it runs */
    uint32_t run = lines ? lines_run(t, t->run, end) : 0;
    uint32_t stub = lines && !t->python ? lines_stub(t, end - 1) : 0;
    bool defers = !whole && last->class == CLASS_JUMP_IF && last->immediate >= 0 &&
                  end < t->count && !(lines && python_looks(t, first, end));
    struct line_place where = {0};
    if (lines && !whole && !defers)
        where = line_place(t, first, end, run, stub);
    bool folds = !whole && folds_count(t, end - 1) && (!lines || where.folds);
    bool adds = !folds && !defers && t->uncounted + counted;
    bool placed = where.count.has_room || where.count.evaluated;
    unsigned place = whole ? first : placed ? where.index : count_place(t, first, end);
    t->ahead = -(int)t->uncounted;
    t->segments[t->segment_count++] = run;
    bool swaps = first == 0 && code_function_swaps(t->function) &&
                 t->pc == t->function->start + t->function->module->bias;
    if (t->python || whole || swaps)
        add_mark(t, MARK_PROGRAM, t->offsets[first], 0, t->ahead);
    if (t->python)
        python_emit_start(t, first);
    if (swaps)
        emit_report(t, first, EXIT_SWAP);
    if (turns_are_on() && counted)
        turns_emit(t, first, counted);
    t->uncounted += counted;
    t->folded = folds && !lines ? t->uncounted : 0;
    t->counted_ahead = t->carried = 0;
    t->folded_line = where.folds ? where.count : (struct line_count){0};
    for (unsigned i = first; i < end; i++) {
        if (adds && i == place) {
            if (lines || i == 0) /* a signal had better not step through it */
                add_mark(t, MARK_PROGRAM, t->offsets[i], 0, t->ahead);
            give_vectors(t, false);
            add_mark(t, MARK_ENGINE, 0, 0, 0);
            if (lines) {
                if (placed)
                    lines_emit(&t->code, &where.count);
                else
                    emit_line_count(t, i, run, stub);
            } else {
                vectors_emit_count(&t->code, t->uncounted);
            }
            t->ahead += t->uncounted;
            t->uncounted = 0;
            t->run = end;
        }
        bool touched = vectors_touched(&t->instructions[i], t->source + t->offsets[i]);
        if (touched || t->instructions[i].class != CLASS_ORDINARY)
            give_vectors(t, touched);
        if (t->python && i == end - 1)
            emit_python_last(t, i, counted > end - first ? counted - (end - first) : 0);
        bool borrows = adds && placed && i == place;
        if (!borrows || where.count.borrow != BORROW_FREE)
            add_mark(t, MARK_PROGRAM, t->offsets[i],
                     borrows && where.count.borrow == BORROW_KEPT ? 1 << where.count.reg : 0,
                     t->ahead);
        emit_instruction(t, i);
        t->looked = false;
        t->ahead--;
        t->frame_stored |= python_may_set_frame(t, i);
        if (python_may_set_line(t, i)) {
            give_vectors(t, false);
            add_mark(t, MARK_PROGRAM, t->offsets[i + 1], 0, t->ahead);
            python_emit_line_look(t, i + 1);
        }
    }
    if (folds) {
        t->uncounted = t->carried - t->counted_ahead;
        t->run = end;
    }
}

/* Aligned: the program may have asked for alignment checks (AC). */
static unsigned check_size(uint64_t at, unsigned left)
{
    if (left >= 8 && at % 8 == 0)
        return 8;
    return left >= 4 && at % 4 == 0 ? 4 : 1;
}

/*
 * Compares the source with what is translated here, word by word. A block that changes its own
 * later instructions is not noticed before its next entry.
 */
static void emit_check(struct translation *t)
{
    struct emitter *e = &t->code;
    uint64_t changed =
        cold_exit(new_exit(t, t->count, EXIT_CHANGED, t->pc), true, 1 << RAX | 1 << RCX, 0);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_spill(e, RAX);
    save_flags(e);
    emit_spill(e, RCX);
    emit_constant(e, RCX, t->pc);
    for (unsigned at = 0; at < t->source_size;) {
        uint64_t word = 0;
        unsigned size = check_size(t->pc + at, t->source_size - at);
        memcpy(&word, t->source + at, size);
        emit_constant(e, RAX, word);
        if (size == 8)
            emit_byte(e, 0x48);
        emit_byte(e, size == 1 ? 0x3a : 0x3b); /* cmp al/eax/rax, [rcx + at] */
        emit_byte(e, 0x80 | RAX << 3 | RCX);
        emit_u32(e, at);
        jump_if(e, IF_NOT_EQUAL, changed);
        at += size;
    }
    restore(e, !flags_dead(t, 0), 1 << RAX | 1 << RCX);
}

static void emit_block(struct translation *t)
{
    if (t->checked || t->ends_code)
        add_mark(t, MARK_PROGRAM, 0, 0, 0);
    if (t->checked)
        emit_check(t);
    if (t->ends_code)
        python_emit_forget(t);
    for (unsigned first = 0, end; first < t->count; first = end) {
        end = segment_end(t, first);
        emit_segment(t, first, end);
    }
    uint64_t next = t->pc + t->source_size;
    give_vectors(t, false);
    add_mark(t, MARK_PROGRAM, t->source_size, 0, 0);
    if (t->python)
        python_emit_end(t);
    if (t->end == END_CUT)
        emit_jump_exit(t, t->count, next);
    else if (t->end == END_LEAF)
        emit_stub(&t->code, new_exit(t, t->count, EXIT_LEAF_END, next));
    else if (t->end == END_BUDGET)
        emit_stub(&t->code, new_exit(t, t->count, EXIT_BUDGET, next));
    else if (t->end == END_ILLEGAL || t->end == END_UNMAPPED)
        emit_stub(&t->code, new_exit(t, t->count,
                                     t->end == END_ILLEGAL ? EXIT_ILLEGAL : EXIT_UNMAPPED, t->pc));
    emit_side_exits(t);
}

static void emit_before(struct block *block)
{
    struct emitter e = {cache_writable(cache.hot), CACHE_START + cache.hot};
    if (cache.coming.by != COMING_PLAIN)
        jumps_emit_entry(&e, block);
    if (cache.coming.before) {
        uint64_t start = e.address;
        if (options.line_detail)
            lines_emit_place(&e, cache.coming.before, block->flags & BLOCK_FLAGS_LIVE);
        else
            vectors_emit_count(&e, cache.coming.before);
        block->before = cache.coming.before;
        block->before_bytes = e.address - start;
    }
    cache.hot = e.address - CACHE_START;
}

static uint16_t flags_of(const struct translation *t)
{
    return (t->plt ? BLOCK_PLT : 0) | (t->leaf ? BLOCK_LEAF : 0) |
           (t->checked || !flags_dead(t, 0) ? BLOCK_FLAGS_LIVE : 0);
}

/* `part`: how many instructions at most, 0 for a whole block. */
static struct block *translate(uint64_t pc, unsigned part, bool leaf)
{
    if (cache_is_full())
        fail("the code cache is full", NULL);
    cache_keep_huge();
    struct translation *t = &translation;
    t->pc = pc;
    t->source = (const uint8_t *)pc;
    t->count = t->mark_count = t->segment_count = t->side_count = t->uncounted = 0;
    t->given = t->looked = false;
    t->run = 0;
    t->source_size = 0;
    t->part = part;
    t->leaf = leaf;
    vectors_count_leaf(leaf);
    struct code_place place = code_map_translate(&core.code, pc);
    t->function = place.function;
    t->plt = place.plt;
    t->python = python_watched(&place);
    t->evaluates = t->python && python_evaluates(t->python, t->function);
    t->frame_stored = false;
    t->ends_code = python_ends_code(&place, pc);
    t->checked = maps_may_change(pc);
    decode_block(t);
    local_look_at(t);
    code_map_translated(&core.code, &place, pc, t->source, t->source_size);

    struct block *block = cache_add_block(pc);
    t->block = block - cache.blocks;
    block->function = t->function;
    block->flags = flags_of(t);
    emit_before(block);
    t->code = (struct emitter){cache_writable(cache.hot), CACHE_START + cache.hot};
    emit_block(t);

    block = &cache.blocks[t->block];
    block->code = cache.hot;
    block->code_size = t->code.address - CACHE_START - cache.hot;
    block->source_size = t->source_size + (t->end == END_LEAF); /* what is next matters too */
    block->mark_count = t->mark_count;
    block->marks = arena_allocate(t->mark_count * sizeof *block->marks);
    memcpy(block->marks, t->marks, t->mark_count * sizeof *block->marks);
    if (options.line_detail) {
        block->segment_count = t->segment_count;
        block->segments = arena_allocate(t->segment_count * sizeof *block->segments);
        memcpy(block->segments, t->segments, t->segment_count * sizeof *block->segments);
    }
    /* Blocks that begin a cache line are entered faster; but much code is fetched faster if it is
     * dense. */
    uint32_t grain = cache.hot < CACHE_DATA_BYTES + DENSE_AFTER ? 63 : 15;
    cache.hot = (cache.hot + block->code_size + grain) & ~grain;
    cache_publish(block);
    vectors_count_leaf(false);
    return block;
}

struct block *translate_block(uint64_t pc)
{
    struct block *block = cache_find(pc);
    return block ? block : translate(pc, 0, false);
}

struct block *translate_leaf(uint64_t pc)
{
    struct block *block = cache_find_leaf(pc);
    return block ? block : translate(pc, 0, true);
}

struct block *translate_part(uint64_t pc, unsigned instructions)
{
    return translate(pc, instructions, false);
}

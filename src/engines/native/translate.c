/*
 * translate.c: see translate.h.
 *
 * A block is a run of instructions with one entry. It goes through conditional branches that are
 * not taken, up to a few (branches.h), and ends at anything else that moves control. Marks
 * (cache.h) say at every instruction how far the count (segments.h) is ahead.
 */
#include "engines/native/translate.h"
#include "engines/native/assemble.h"
#include "engines/native/branches.h"
#include "engines/native/fast.h"
#include "engines/native/foreseen.h"
#include "engines/native/jumps.h"
#include "engines/native/leaves.h"
#include "engines/native/local.h"
#include "engines/native/maps.h"
#include "engines/native/python_stores.h"
#include "engines/native/python_watch.h"
#include "engines/native/record.h"
#include "engines/native/repeatable.h"
#include "engines/native/requests.h"
#include "engines/native/segments.h"
#include "engines/native/stores.h"
#include "engines/native/translation.h"

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
    _Static_assert(INSTRUCTIONS_MAX * INSTRUCTION_LENGTH_MAX <= CODE_READER_KEEP, "a block's");
    uint64_t within = function_end(t);
    unsigned branches = 0, at = 0;
    code_reader_init(&t->reader, t->pc, maps_executable_end(t->pc));
    t->source = t->reader.bytes;
    t->end = END_CUT;
    unsigned most = t->checked ? CHECKED_MAX : INSTRUCTIONS_MAX;
    if (t->part)
        most = t->part < most ? t->part : most;
    while (t->end == END_CUT && t->count < most && branches < BRANCHES_MAX) {
        struct instruction *instruction = &t->instructions[t->count];
        if (t->count && leaves_function(t, t->pc + at, within))
            break;
        if (!code_reader_next(&t->reader, instruction)) {
            if (t->count == 0)
                t->end = END_NO_CODE;
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
        if (t->checked && may_store_to_code(instruction))
            break; /* what it changes may be what comes next, which is then compared */
    }
    if (t->part)
        t->end = END_BUDGET;
    t->offsets[t->count] = at;
    if (t->end == END_CUT)
        t->count = python_whole_until(t);
    t->source_size = t->offsets[t->count];
}

/* A state of the program stays one though the engine's code begins there: it has not begun. */
void add_mark(struct translation *t, enum mark_kind kind, unsigned pc_offset, unsigned spilled,
              int ahead)
{
    _Static_assert(BRANCHES_MAX + 2 <= 16, "mark.segment");
    const struct mark *last = t->mark_count ? &t->marks[t->mark_count - 1] : NULL;
    unsigned offset = t->code.address - CACHE_START - cache.hot;
    bool after =
        last && kind == MARK_ENGINE && last->kind == MARK_PROGRAM && last->offset == offset;
    t->marks[t->mark_count++] = (struct mark){
        .offset = offset + after,
        .kind = kind,
        .spilled = spilled | (t->given == GIVEN_LOWER ? MARK_LOWER : 0),
        .given = t->given != GIVEN_NOT,
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

void give_vectors(struct translation *t, enum vectors_given given)
{
    if (given == t->given || (given == GIVEN_LOWER && t->given == GIVEN_WHOLE))
        return;
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    uint64_t loads[VECTORS_BORROWED];
    if (t->given)
        vectors_emit_take(&t->code, t->given, loads);
    if (t->given == GIVEN_WHOLE)
        fast_emit_leave_by(&t->code, !t->upper_zero);
    if (given)
        vectors_emit_give(&t->code, given);
    t->given = given;
}

/* A register's value waits while an instruction of the program's runs, and is put back. */
static void emit_put_away(struct translation *t, unsigned reg)
{
    if (t->given)
        emit_to_slot(&t->code, reg);
    else
        emit_spill(&t->code, reg);
}

static void emit_put_back(struct translation *t, unsigned reg)
{
    if (t->given)
        emit_from_slot(&t->code, reg);
    else
        emit_unspill(&t->code, reg);
}

static void emit_limited_state(struct translation *t, unsigned index, const struct copy *copy)
{
    unsigned spilled = 1 << REGISTER_RAX;
    emit_put_away(t, REGISTER_RAX);
    add_mark(t, MARK_PROGRAM, t->offsets[index], spilled, t->ahead);
    vectors_emit_limit_state(&t->code);
    add_mark(t, MARK_PROGRAM, t->offsets[index], spilled, t->ahead);
    copy_emit_body(&t->code, copy);
    add_mark(t, MARK_PROGRAM, t->offsets[index + 1], spilled, t->ahead - 1);
    emit_put_back(t, REGISTER_RAX);
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
    emit_put_away(t, copy.scratch);
    add_mark(t, MARK_PROGRAM, here, spilled, t->ahead);
    emit_constant(e, copy.scratch, copy.operand);
    add_mark(t, MARK_PROGRAM, here, spilled, t->ahead);
    copy_emit_body(e, &copy);
    add_mark(t, MARK_PROGRAM, t->offsets[index + 1], spilled, t->ahead - 1);
    emit_put_back(t, copy.scratch);
}

void emit_instruction(struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    uint64_t next = t->pc + t->offsets[index + 1], slot;
    uint32_t id;
    switch (instruction->class) {
    case CLASS_ORDINARY:
        emit_ordinary(t, index);
        if (t->end == END_REQUEST && index + 1 == t->count) {
            give_vectors(t, GIVEN_NOT);
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
        id = new_exit(t, index, EXIT_EMULATED, next);
        cache.exits[id].site = repeatable_keep(instruction);
        emit_stub(&t->code, id);
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

/* Aligned: the program may have asked for alignment checks (AC). */
static unsigned check_size(uint64_t at, unsigned left)
{
    if (left >= 8 && at % 8 == 0)
        return 8;
    return left >= 4 && at % 4 == 0 ? 4 : 1;
}

/* Compares the source with what is translated here, word by word. */
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
    add_mark(t, MARK_CHECK, 0, 0, 0);
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
    add_mark(t, MARK_ENGINE, 0, 0, 0);
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
    give_vectors(t, GIVEN_NOT);
    add_mark(t, MARK_PROGRAM, t->source_size, 0, 0);
    if (t->python)
        python_emit_end(t);
    if (t->end == END_CUT)
        emit_jump_exit(t, t->count, next);
    else if (t->end == END_LEAF)
        emit_stub(&t->code, new_exit(t, t->count, EXIT_LEAF_END, next));
    else if (t->end == END_BUDGET)
        emit_stub(&t->code, new_exit(t, t->count, EXIT_BUDGET, next));
    else if (t->end == END_NO_CODE)
        emit_stub(&t->code, new_exit(t, t->count, EXIT_NO_CODE, t->pc));
    emit_side_exits(t);
}

static void emit_before(struct block *block, struct coming coming)
{
    struct emitter e = {cache_writable(cache.hot), CACHE_START + cache.hot};
    if (coming.by != COMING_PLAIN)
        jumps_emit_entry(&e, block, coming.by == COMING_CALLED);
    if (coming.before) {
        uint64_t start = e.address;
        if (options.line_detail)
            lines_emit_place(&e, coming.before, block->flags & BLOCK_FLAGS_LIVE);
        else
            vectors_emit_count(&e, coming.before);
        block->before = coming.before;
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
static struct block *translate(uint64_t pc, unsigned part, bool leaf, struct coming coming)
{
    if (cache_is_full())
        fail("the code cache is full", NULL);
    cache_keep_huge();
    struct translation *t = &translation;
    t->pc = pc;
    t->count = t->mark_count = t->segment_count = t->side_count = t->uncounted = 0;
    t->given = GIVEN_NOT;
    t->looked = false;
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
    emit_before(block, coming);
    t->code = (struct emitter){cache_writable(cache.hot), CACHE_START + cache.hot};
    emit_block(t);

    block = &cache.blocks[t->block];
    block->code = cache.hot;
    block->code_size = t->code.address - CACHE_START - cache.hot;
    /* What is next matters too. */
    block->source_size = t->source_size + (t->end == END_LEAF || t->end == END_NO_CODE);
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

struct block *translate_coming(uint64_t pc, struct coming coming)
{
    struct block *block = cache_find(pc);
    return block ? block : translate(pc, 0, false, coming);
}

struct block *translate_block(uint64_t pc)
{
    return translate_coming(pc, (struct coming){0});
}

struct block *translate_leaf(uint64_t pc, struct coming coming)
{
    struct block *block = cache_find_leaf(pc);
    return block ? block : translate(pc, 0, true, coming);
}

struct block *translate_part(uint64_t pc, unsigned instructions)
{
    return translate(pc, instructions, false, (struct coming){0});
}

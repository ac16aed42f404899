#include "plan.h"

#include "core/platform.h"

#include "pub_tool_libcassert.h"

#define REQUEST_INSTRUCTIONS 5

/* The four rotations of rdi that stand for no work, and an exchange of a register with itself,
 * make a request to Valgrind: five instructions that VEX hands over as one. */
static Bool is_request(Addr address, UInt length)
{
    static const UChar preamble[16] = {0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d,
                                       0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33};
    const UChar *bytes = (const UChar *)address;

    if (length != 19)
        return False;
    for (UInt i = 0; i < sizeof preamble; i++)
        if (bytes[i] != preamble[i])
            return False;
    return True;
}

UInt plan_instructions_at(Addr address, UInt length)
{
    return is_request(address, length) ? REQUEST_INSTRUCTIONS : 1;
}

static const UChar *opcode_at(Addr address)
{
    const UChar *at = (const UChar *)address;

    while (*at == 0x2e || *at == 0x3e || *at == 0xf2 || *at == 0xf3 || *at == 0x66)
        at++;
    return *at >= 0x40 && *at <= 0x4f ? at + 1 : at;
}

static Bool is_direct_branch(Addr address)
{
    const UChar *at = opcode_at(address);

    return (*at >= 0x70 && *at <= 0x7f) || (*at >= 0xe0 && *at <= 0xe3) || *at == 0xeb ||
           *at == 0xe9 || *at == 0xe8 || (*at == 0x0f && (at[1] & 0xf0) == 0x80);
}

/* Jumps may well go to themselves; for any other instruction an exit to its own address means
 * that it is not done yet. */
static Bool may_repeat(Addr address)
{
    return !is_direct_branch(address) && *opcode_at(address) != 0xff;
}

Bool plan_goes_to(const IRConst *constant, Addr address)
{
    return constant->tag == Ico_U64 && constant->Ico.U64 == address;
}

Bool plan_next_is(const IRSB *block, Addr address)
{
    return block->next->tag == Iex_Const && plan_goes_to(block->next->Iex.Const.con, address);
}

Bool plan_is_fault(IRJumpKind kind)
{
    return kind == Ijk_SigSEGV || kind == Ijk_SigBUS || kind == Ijk_SigILL || kind == Ijk_SigFPE ||
           kind == Ijk_SigFPE_IntDiv || kind == Ijk_SigFPE_IntOvf || kind == Ijk_NoDecode;
}

/* ---- instructions ---- */

static void add_length(struct block_info *info, UInt length)
{
    if (info->instructions == info->capacity) {
        UInt capacity = info->capacity ? 2 * info->capacity : 16;
        UChar *lengths = platform_allocate(2 * capacity);
        for (UInt i = 0; i < info->instructions; i++) {
            lengths[i] = info->lengths[i];
            lengths[capacity + i] = info->marks[i];
        }
        if (info->capacity)
            platform_release(info->lengths, 2 * info->capacity);
        info->lengths = lengths;
        info->marks = lengths + capacity;
        info->capacity = capacity;
    }
    info->marks[info->instructions] = MARK_NONE;
    info->lengths[info->instructions++] = length;
}

static void add_instruction(struct block_info *info, Addr address, UInt length)
{
    if (!is_request(address, length)) {
        add_length(info, length);
        return;
    }
    for (UInt i = 0; i < 4; i++)
        add_length(info, 4);
    add_length(info, 3);
}

/* Has the instruction whose mark is statement `mark` an exit other than to a fault? `*next` is the
 * mark after it, or the end. */
static Bool has_exit(const IRSB *block, Int mark, Int *next)
{
    Bool exits = False;
    Int i;

    for (i = mark + 1; i < block->stmts_used && block->stmts[i]->tag != Ist_IMark; i++)
        exits |= block->stmts[i]->tag == Ist_Exit && !plan_is_fault(block->stmts[i]->Ist.Exit.jk);
    *next = i;
    return exits;
}

static Bool exits_to(const IRSB *block, Int mark, Int next, Addr address)
{
    for (Int i = mark + 1; i < next; i++)
        if (block->stmts[i]->tag == Ist_Exit && !plan_is_fault(block->stmts[i]->Ist.Exit.jk) &&
            plan_goes_to(block->stmts[i]->Ist.Exit.dst, address))
            return True;
    return next == block->stmts_used && plan_next_is(block, address);
}

/* ---- cutting ---- */

static void cut_before(IRSB *block, Int mark)
{
    block->next = IRExpr_Const(IRConst_U64(block->stmts[mark]->Ist.IMark.addr));
    block->jumpkind = Ijk_Boring;
    block->stmts_used = mark;
}

static Bool runs_on(const IRSB *block)
{
    Int mark = block->stmts_used - 1, next;

    while (mark >= 0 && block->stmts[mark]->tag != Ist_IMark)
        mark--;
    if (mark < 0 || block->jumpkind != Ijk_Boring || has_exit(block, mark, &next))
        return False;
    Addr address = block->stmts[mark]->Ist.IMark.addr;
    return !is_direct_branch(address) &&
           plan_next_is(block, address + block->stmts[mark]->Ist.IMark.len);
}

void plan_cut(IRSB *block, const struct code_place *place)
{
    Int next;

    for (Int i = 0; !place->plt && place->end && i < block->stmts_used; i++)
        if (block->stmts[i]->tag == Ist_IMark && block->stmts[i]->Ist.IMark.addr >= place->end)
            cut_before(block, i);
    if (!runs_on(block))
        return;
    for (Int i = 0; i < block->stmts_used; i++)
        if (block->stmts[i]->tag == Ist_IMark && has_exit(block, i, &next) &&
            next < block->stmts_used)
            cut_before(block, next);
}

/* ---- segments ---- */

static struct segment *segment_begin(struct plan *plan, const struct block_info *info, Addr address)
{
    tl_assert(plan->segment_count < MAX_SEGMENTS);
    struct segment *segment = &plan->segments[plan->segment_count++];
    *segment = (struct segment){.address = address, .first_length = info->instructions};
    return segment;
}

void plan_make(struct plan *plan, struct block_info *info, const IRSB *block)
{
    struct segment *segment = NULL;
    Bool cut = True; /* a segment begins at the next instruction */
    Int next;

    plan->segment_count = 0;
    plan->runs_on = runs_on(block);
    info->instructions = 0;
    for (Int i = 0; i < block->stmts_used; i++) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag != Ist_IMark)
            continue;
        Addr address = statement->Ist.IMark.addr;
        plan->last_address = address;
        plan->last_length = statement->Ist.IMark.len;
        Bool exits = has_exit(block, i, &next);
        Bool repeats = exits_to(block, i, next, address) && may_repeat(address);
        if (cut || repeats)
            segment = segment_begin(plan, info, address);
        UInt before = info->instructions;
        add_instruction(info, address, statement->Ist.IMark.len);
        segment->instructions += info->instructions - before;
        segment->repeats = repeats;
        if (cut || repeats)
            info->marks[before] = repeats ? MARK_REPEATS : MARK_SEGMENT;
        cut = repeats || exits;
    }
    /* An instruction that cannot be run ends the block without being done. */
    if (plan_is_fault(block->jumpkind) && segment && plan_next_is(block, plan->last_address)) {
        segment->instructions--;
        info->instructions--;
    }
}

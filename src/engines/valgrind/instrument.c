/*
 * instrument.c: adds counting and stack tracking to each translated block.
 *
 * What a block does, in order, all inline unless a guard fails:
 *
 *   start   remember the block, for faults in its middle
 *           count its instructions: current->self_instructions += n, or at line detail the
 *           counter of (current, block), found in a direct-mapped cache     else slow_count
 *   end     call      child from a slot of current             else slow_call
 *                     or, indirect, from the tree's cache      else slow_call_indirect
 *                     push {return address, sp, current}; current = child
 *           return    newest entry has this target and sp      else slow_return
 *                     current = its context; pop
 *           jump, direct: to this function nothing at all, to another slow_mismatch
 *           jump, indirect: into this function, sp where the frame is       else slow_jump
 *           PLT stub  as an indirect call, whose entry was pushed by the call into the stub
 *
 * A block's start needs no test whether it is in its function's context, because whoever comes from
 * another function sees to it: jumps at their source, returns by their entry, signal handlers and
 * threads where they begin (events.c). Only anonymous code has the test, at each block.
 *
 * Blocks of CPython's evaluator begin with a look at the frame that it executes; see core/python.h.
 *
 * The running thread's `hot` is reached through a word of Valgrind's shadow registers, which is
 * one load; as a constant, its address would be put together anew for each access.
 *
 * Counting at the start is exact because chasing is off: a block is left only at its end, or by a
 * fault, which events.c takes back. Two things count later: an instruction that repeats itself
 * (REP) is a block of its own, counted when it is left for another address; and what follows an
 * instruction with an exit of its own is a second segment.
 *
 * Cost: about ten host instructions a block, at line detail about fifteen; a call or a return
 * about twenty. That is 1.1 to 1.4 times Valgrind without a tool.
 */
#include "engine.h"

#include "core/platform.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"

#include "libvex_guest_amd64.h"

#include <stddef.h>

#define STACK_ENTRY_BYTES 32
_Static_assert(sizeof(struct stack_entry) == STACK_ENTRY_BYTES, "inline code knows the layout");

/* ---- small words for flat IR ---- */

static IRSB *out;

static void add(IRStmt *statement)
{
    addStmtToIRSB(out, statement);
}

static IRExpr *word(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

static IRExpr *address_of(const void *address)
{
    return word((ULong)(Addr)address);
}

static IRExpr *assign(IRType type, IRExpr *value)
{
    IRTemp temp = newIRTemp(out->tyenv, type);

    add(IRStmt_WrTmp(temp, value));
    return IRExpr_RdTmp(temp);
}

static IRExpr *op(IROp operation, IRExpr *left, IRExpr *right)
{
    IRType type = operation == Iop_CmpNE64 || operation == Iop_CmpEQ64 ||
                          operation == Iop_CmpLT64U || operation == Iop_CmpLE64U
                      ? Ity_I1
                      : Ity_I64;

    return assign(type, IRExpr_Binop(operation, left, right));
}

static IRExpr *load(IRExpr *address)
{
    return assign(Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, address));
}

static IRExpr *load_field(IRExpr *base, ULong offset)
{
    return load(offset ? op(Iop_Add64, base, word(offset)) : base);
}

static void store(IRExpr *address, IRExpr *value)
{
    add(IRStmt_Store(Iend_LE, address, value));
}

static void call_if(IRExpr *guard, Int regparms, const HChar *name, void *function, IRExpr **arguments)
{
    IRDirty *dirty = unsafeIRDirty_0_N(regparms, name, VG_(fnptr_to_fnentry)(function), arguments);

    dirty->guard = guard;
    add(IRStmt_Dirty(dirty));
}

static IRExpr *widen(IRExpr *condition)
{
    return assign(Ity_I64, IRExpr_Unop(Iop_1Uto64, condition));
}

/* The entry of a direct-mapped cache of 16-byte entries for `key`. */
static IRExpr *cache_entry(const void *cache, UInt bits, IRExpr *key)
{
    IRExpr *mixed = op(Iop_Mul64, key, word(TREE_MIX));
    IRExpr *index = assign(Ity_I64, IRExpr_Binop(Iop_Shr64, mixed, IRExpr_Const(IRConst_U8(64 - bits))));
    IRExpr *offset = assign(Ity_I64, IRExpr_Binop(Iop_Shl64, index, IRExpr_Const(IRConst_U8(4))));

    return op(Iop_Add64, offset, address_of(cache));
}

/* ---- what a block is made of ---- */

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

/* Jumps may well go to themselves; for any other instruction an exit to its own address means
 * that it is not done yet. */
static Bool is_branch(Addr address)
{
    const UChar *at = (const UChar *)address;

    while (*at == 0x2e || *at == 0x3e || *at == 0xf2 || *at == 0xf3 || *at == 0x66)
        at++;
    if (*at >= 0x40 && *at <= 0x4f)
        at++;
    return (*at >= 0x70 && *at <= 0x7f) || (*at >= 0xe0 && *at <= 0xe3) || *at == 0xeb ||
           *at == 0xe9 || *at == 0xe8 || *at == 0xff || (*at == 0x0f && (at[1] & 0xf0) == 0x80);
}

static Bool goes_to(const IRConst *constant, Addr address)
{
    return constant->tag == Ico_U64 && constant->Ico.U64 == address;
}

static Bool next_is(const IRSB *block, Addr address)
{
    return block->next->tag == Iex_Const && goes_to(block->next->Iex.Const.con, address);
}

/* A fault that the instruction asks for itself: nothing after it runs, and it is not done. */
static Bool is_fault(IRJumpKind kind)
{
    return kind == Ijk_SigSEGV || kind == Ijk_SigBUS || kind == Ijk_SigILL ||
           kind == Ijk_SigFPE || kind == Ijk_SigFPE_IntDiv || kind == Ijk_SigFPE_IntOvf ||
           kind == Ijk_NoDecode;
}

/* A stretch of instructions that is counted together. */
struct segment {
    Addr address;
    UInt instructions;
    UInt first_length; /* place in the block's lengths */
    Bool repeats;      /* one instruction, counted when it is left */
};

#define MAX_SEGMENTS 130

struct plan {
    UInt segment_count;
    struct segment segments[MAX_SEGMENTS];
    Addr last_address; /* of the last instruction */
    UInt last_length;
};

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

static struct segment *segment_begin(struct plan *plan, const struct block_info *info, Addr address)
{
    tl_assert(plan->segment_count < MAX_SEGMENTS);
    struct segment *segment = &plan->segments[plan->segment_count++];
    *segment = (struct segment){.address = address, .first_length = info->instructions};
    return segment;
}

/* May it fault? VEX keeps the program counter exact for memory accesses only. */
static Bool divides(const IRStmt *statement)
{
    if (statement->tag != Ist_WrTmp || statement->Ist.WrTmp.data->tag != Iex_Binop)
        return False;
    IROp operation = statement->Ist.WrTmp.data->Iex.Binop.op;
    return operation == Iop_DivModU64to32 || operation == Iop_DivModS64to32 ||
           operation == Iop_DivModU128to64 || operation == Iop_DivModS128to64;
}

/* ---- which stores concern Python ---- */

/* The value of a temporary as a register of the program (its offset, -1: none) and a constant. */
static Int base_register(const IRSB *block, const IRExpr *expression, Long *constant)
{
    *constant = 0;
    for (Int i = block->stmts_used; i-- > 0 && expression->tag == Iex_RdTmp;) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag != Ist_WrTmp || statement->Ist.WrTmp.tmp != expression->Iex.RdTmp.tmp)
            continue;
        const IRExpr *value = statement->Ist.WrTmp.data;
        if (value->tag == Iex_Get)
            return value->Iex.Get.offset;
        if (value->tag == Iex_Binop && value->Iex.Binop.arg2->tag == Iex_Const &&
            (value->Iex.Binop.op == Iop_Add64 || value->Iex.Binop.op == Iop_Sub64)) {
            Long term = (Long)value->Iex.Binop.arg2->Iex.Const.con->Ico.U64;
            *constant += value->Iex.Binop.op == Iop_Add64 ? term : -term;
            expression = value->Iex.Binop.arg1;
        } else if (value->tag == Iex_RdTmp) {
            expression = value;
        } else {
            break;
        }
    }
    return -1;
}

/* How the address of a store ends: the constant that is added last. */
static Long displacement(const IRSB *block, const IRExpr *address)
{
    for (Int i = 0; i < block->stmts_used && address->tag == Iex_RdTmp; i++) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag != Ist_WrTmp || statement->Ist.WrTmp.tmp != address->Iex.RdTmp.tmp)
            continue;
        const IRExpr *value = statement->Ist.WrTmp.data;
        if (value->tag == Iex_Binop && value->Iex.Binop.op == Iop_Add64 &&
            value->Iex.Binop.arg2->tag == Iex_Const)
            return (Long)value->Iex.Binop.arg2->Iex.Const.con->Ico.U64;
        break;
    }
    return 0;
}

static Int store_bytes(const IRSB *block, const IRStmt *statement)
{
    return statement->tag == Ist_Store
               ? sizeofIRType(typeOfIRExpr(block->tyenv, statement->Ist.Store.data))
               : 0;
}

/* May the statement change which frame is current? The word is either in a C frame of the
 * evaluator, which it reaches by the stack pointer or a frame pointer, or in the thread state. */
static Bool may_set_frame(const struct python_module *python, const IRSB *block,
                          const IRStmt *statement)
{
    Int size_bytes = store_bytes(block, statement);
    Long constant;

    if (size_bytes < 8)
        return False;
    const IRExpr *address = statement->Ist.Store.addr;
    if (!python->layout.has_c_frame) {
        Long before = python->layout.state_frame - displacement(block, address);
        return before >= 0 && before < size_bytes;
    }
    Int base = base_register(block, address, &constant);
    return base == offsetof(VexGuestAMD64State, guest_RSP) ||
           (base == offsetof(VexGuestAMD64State, guest_RBP) && constant < 0);
}

static Bool may_set_line(const struct python_module *python, const IRSB *block,
                         const IRStmt *statement)
{
    return store_bytes(block, statement) == python->layout.ip_bytes &&
           displacement(block, statement->Ist.Store.addr) == python->layout.frame_ip;
}

/* Cuts the block into segments, and notes the lengths of its instructions. `python` is NULL unless
 * it is a block of a watched evaluator. */
static void make_plan(struct plan *plan, struct block_info *info, const IRSB *block,
                      const struct python_module *python)
{
    struct segment *segment = NULL;
    Bool cut = True; /* a segment begins at the next instruction */

    plan->segment_count = 0;
    info->instructions = 0;
    for (Int i = 0; i < block->stmts_used; i++) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag != Ist_IMark)
            continue;
        Addr address = statement->Ist.IMark.addr;
        plan->last_address = address;
        plan->last_length = statement->Ist.IMark.len;
        /* Look ahead: what exits does this instruction have? */
        Bool repeats = False, exits = False;
        Int j = i + 1;
        for (; j < block->stmts_used && block->stmts[j]->tag != Ist_IMark; j++) {
            const IRStmt *inner = block->stmts[j];
            exits |= python && core.options.python_lines && may_set_line(python, block, inner);
            if (inner->tag != Ist_Exit || is_fault(inner->Ist.Exit.jk))
                continue;
            exits = True;
            repeats |= goes_to(inner->Ist.Exit.dst, address);
        }
        if (j == block->stmts_used)
            repeats |= next_is(block, address);
        repeats = repeats && !is_branch(address);
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
    if (is_fault(block->jumpkind) && segment && next_is(block, plan->last_address)) {
        segment->instructions--;
        info->instructions--;
    }
}

/* ---- the pieces of inline code ---- */

static IRExpr *hot_base;

static IRExpr *hot_place(UInt offset)
{
    return offset ? op(Iop_Add64, hot_base, word(offset)) : hot_base;
}

static IRExpr *load_hot(UInt offset)
{
    return load(hot_place(offset));
}

static void store_hot(UInt offset, IRExpr *value)
{
    store(hot_place(offset), value);
}

#define HOT(field) offsetof(struct hot, field)

static IRExpr *stack_pointer(const VexGuestLayout *layout)
{
    return assign(Ity_I64, IRExpr_Get(layout->offset_SP, Ity_I64));
}

/* Anonymous code has no boundaries to compare a jump's target with, unless it has names, and those
 * may come and go. */
static void emit_anonymous_check(struct block_info *info, const VexGuestLayout *layout)
{
    IRExpr *code = load_field(load_hot(HOT(current)), offsetof(struct context, code));
    IRExpr *differs;

    if (info->function) {
        differs = op(Iop_CmpNE64, code, address_of(info->function));
    } else {
        IRExpr *flags = load_field(code, offsetof(struct code_function, flags));
        IRExpr *kind =
            op(Iop_And64, flags, word(CODE_FUNCTION_ANONYMOUS | CODE_FUNCTION_GONE));
        differs = op(Iop_CmpNE64, kind, word(CODE_FUNCTION_ANONYMOUS));
    }
    call_if(differs, 2, "slow_mismatch", slow_mismatch,
            mkIRExprVec_2(address_of(info), stack_pointer(layout)));
}

static Bool is_anonymous(const struct code_place *place)
{
    return place->module->kind == CODE_ANONYMOUS || place->module->kind == CODE_JIT;
}

/* memory[base + offset] += value. The address is given twice, so that both fold into operands. */
static void add_to_field(IRExpr *base, UInt offset, IRExpr *value)
{
    IRExpr *sum = op(Iop_Add64, load_field(base, offset), value);

    store(op(Iop_Add64, base, word(offset)), sum);
}

/* Adds `times` (a word: the constant 1, or a condition widened) to what `segment` has run. */
static void emit_count(const struct block_info *info, const struct segment *segment, IRExpr *times)
{
    IRExpr *current = load_hot(HOT(current));
    IRExpr *count = times->tag == Iex_Const ? word(segment->instructions)
                                            : op(Iop_Mul64, times, word(segment->instructions));

    if (engine_counts_instructions())
        add_to_field(hot_base, HOT(instructions), count);
    if (!core.options.line_detail) {
        add_to_field(current, offsetof(struct context, self_instructions), count);
        return;
    }
    UInt block = core_block(&core, segment->address, info->module, segment->instructions,
                            info->lengths + segment->first_length);
    IRExpr *key = op(Iop_Add64, load_field(current, offsetof(struct context, key)), word(block));
    IRExpr *entry = cache_entry(core.counts.cache, COUNTS_CACHE_BITS, key);
    call_if(op(Iop_CmpNE64, load(entry), key), 1, "slow_count", slow_count, mkIRExprVec_1(key));
    add_to_field(entry, offsetof(struct count, count), times);
}

/* Adds to a reason to call a slow path, a word: that there is no room for another entry. There is
 * always room, see core_keep_room, unless recursion is folded. */
static IRExpr *or_stack_is_full(IRExpr *reason)
{
    if (!core.options.max_contexts)
        return reason;
    return op(Iop_Or64, reason,
              widen(op(Iop_CmpEQ64, load_hot(HOT(top)), load_hot(HOT(limit)))));
}

/* Pushes an entry for the return to `return_address`; there is room, and current is the caller. */
static void emit_push(Addr return_address, IRExpr *sp_after_return, IRExpr *current)
{
    IRExpr *top = load_hot(HOT(top));

    store(top, word(return_address));
    store(op(Iop_Add64, top, word(offsetof(struct stack_entry, stack_pointer))), sp_after_return);
    store(op(Iop_Add64, top, word(offsetof(struct stack_entry, context))), current);
    store_hot(HOT(top), op(Iop_Add64, top, word(STACK_ENTRY_BYTES)));
}

static void enter_child(IRExpr *child)
{
    add_to_field(child, offsetof(struct context, calls), word(1));
    store_hot(HOT(current), child);
}

/* The entry of the tree's cache for (current, site, target), right in any case once `slow` has
 * been called if it was not. */
static IRExpr *emit_lookup(IRExpr *current, IRExpr *site, IRExpr *target, const HChar *name,
                           void *slow)
{
    IRExpr *key = op(Iop_Add64, load_field(current, offsetof(struct context, key)), site);
    IRExpr *entry =
        cache_entry(core.tree.cache, TREE_CACHE_BITS, op(Iop_Add64, key, target));
    IRExpr *child = load_field(entry, offsetof(struct tree_cache_entry, child));
    IRExpr *other_target =
        op(Iop_Xor64, load_field(child, offsetof(struct context, entry)), target);
    IRExpr *differs = op(Iop_Or64, op(Iop_Xor64, load(entry), key), other_target);

    call_if(op(Iop_CmpNE64, or_stack_is_full(differs), word(0)), 3, name, slow, mkIRExprVec_3(entry, site, target));
    return entry;
}

static void emit_direct_call(struct block_info *info, UInt site, Addr target, Addr return_address, IRExpr *sp)
{
    IRExpr *current = load_hot(HOT(current));
    UInt slot = offsetof(struct context, slots) + site % CONTEXT_SLOTS * sizeof(struct context_slot);
    IRExpr *other = op(Iop_Xor64, load_field(current, slot), word(site));
    IRExpr *miss = op(Iop_CmpNE64, or_stack_is_full(other), word(0));

    info->site = site;
    info->target = target;
    call_if(miss, 0, "slow_call", slow_call, mkIRExprVec_0());
    emit_push(return_address, sp, current);
    enter_child(load_field(current, slot + offsetof(struct context_slot, child)));
}

static void emit_indirect_call(UInt site, IRExpr *target, Addr return_address, IRExpr *sp)
{
    IRExpr *current = load_hot(HOT(current));
    IRExpr *entry =
        emit_lookup(current, word(site), target, "slow_call_indirect", slow_call_indirect);

    emit_push(return_address, sp, current);
    enter_child(load_field(entry, offsetof(struct tree_cache_entry, child)));
}

/* A call into a PLT: whom it enters is known at the stub's end. */
static void emit_stub_call(UInt site, Addr return_address, IRExpr *sp)
{
    if (core.options.max_contexts)
        call_if(op(Iop_CmpNE64, or_stack_is_full(word(0)), word(0)), 0, "slow_grow", slow_grow,
                mkIRExprVec_0());
    emit_push(return_address, sp, load_hot(HOT(current)));
    store_hot(HOT(pending_site), word(site));
}

static void emit_call(const IRSB *block, const struct plan *plan, struct block_info *info,
                      const VexGuestLayout *layout)
{
    Addr return_address = plan->last_address + plan->last_length;

    /* `call next` only fetches its own address. */
    if (next_is(block, return_address))
        return;
    UInt site = tree_site(&core.tree, plan->last_address, info->module);
    IRExpr *sp = op(Iop_Add64, stack_pointer(layout), word(8));
    if (block->next->tag != Iex_Const) {
        emit_indirect_call(site, block->next, return_address, sp);
        return;
    }
    Addr target = block->next->Iex.Const.con->Ico.U64;
    if (code_map_find(&core.code, target).plt)
        emit_stub_call(site, return_address, sp);
    else
        emit_direct_call(info, site, target, return_address, sp);
}

static void emit_stub_jump(const IRSB *block)
{
    IRExpr *site = load_hot(HOT(pending_site));

    store_hot(HOT(pending_site), word(0));
    IRExpr *entry = emit_lookup(load_hot(HOT(current)), site, block->next, "slow_stub", slow_stub);
    enter_child(load_field(entry, offsetof(struct tree_cache_entry, child)));
}

static void emit_return(const IRSB *block, const VexGuestLayout *layout)
{
    IRExpr *sp = stack_pointer(layout);
    IRExpr *newest = op(Iop_Sub64, load_hot(HOT(top)), word(STACK_ENTRY_BYTES));
    IRExpr *other_target = op(Iop_Xor64, load(newest), block->next);
    IRExpr *other_sp =
        op(Iop_Xor64, load_field(newest, offsetof(struct stack_entry, stack_pointer)), sp);
    IRExpr *miss = op(Iop_CmpNE64, op(Iop_Or64, other_target, other_sp), word(0));

    call_if(miss, 2, "slow_return", slow_return, mkIRExprVec_2(block->next, sp));
    newest = op(Iop_Sub64, load_hot(HOT(top)), word(STACK_ENTRY_BYTES));
    store_hot(HOT(current), load_field(newest, offsetof(struct stack_entry, context)));
    store_hot(HOT(top), newest);
}

/* Does the block itself move the stack pointer, other than by what `ret` and `pop` do? Only then
 * can a jump inside its function change the frame: a longjmp leaves the function that made it. */
static Bool sets_stack_pointer(const IRSB *block, const VexGuestLayout *layout)
{
    for (Int i = 0; i < block->stmts_used; i++)
        if (block->stmts[i]->tag == Ist_Put &&
            block->stmts[i]->Ist.Put.offset == layout->offset_SP)
            return True;
    return False;
}

/* The stack pointer is above the frame, or suspiciously far below its beginning. */
static IRExpr *frame_is_left(IRExpr *sp)
{
    IRExpr *newest = op(Iop_Sub64, load_hot(HOT(top)), word(STACK_ENTRY_BYTES));
    IRExpr *bottom = load_field(newest, offsetof(struct stack_entry, stack_pointer));
    IRExpr *depth = op(Iop_Sub64, op(Iop_Sub64, bottom, word(8)), sp);

    return op(Iop_CmpLT64U, load_hot(HOT(reach)), depth);
}

static void emit_indirect_jump(const IRSB *block, const struct code_place *place,
                               const struct block_info *info, const VexGuestLayout *layout)
{
    IRExpr *sp = stack_pointer(layout);
    uint64_t start = place->start, end = place->end;
    IRExpr *leaves = IRExpr_Const(IRConst_U1(True));

    if (end || platform_find_mapping(info->address, &start, &end)) {
        IRExpr *inside = op(Iop_Sub64, block->next, word(start));
        leaves = op(Iop_CmpLE64U, word(end - start), inside);
    }
    if (sets_stack_pointer(block, layout))
        leaves = op(Iop_CmpNE64, op(Iop_Or64, widen(leaves), widen(frame_is_left(sp))), word(0));
    call_if(leaves, 2, "slow_jump", slow_jump, mkIRExprVec_2(block->next, sp));
}

/* A direct jump that is always taken: the child is found in a slot, as for a call. */
static void emit_tail_call(struct block_info *target, const VexGuestLayout *layout)
{
    IRExpr *current = load_hot(HOT(current));
    UInt slot = offsetof(struct context, slots) +
                target->number % CONTEXT_SLOTS * sizeof(struct context_slot);
    IRExpr *token = word(JUMP_TO(target));
    /* A jump from a frame that was left, or with a call pending, is nothing to repeat. */
    IRExpr *sp = stack_pointer(layout);
    IRExpr *other = op(Iop_Or64, op(Iop_Xor64, load_field(current, slot), token),
                       widen(frame_is_left(sp)));

    call_if(op(Iop_CmpNE64, other, word(0)), 2, "slow_tail_call", slow_tail_call,
            mkIRExprVec_2(address_of(target), sp));
    enter_child(load_field(current, slot + offsetof(struct context_slot, child)));
}

/* A direct jump, or a fall-through, from `info` to `target`; taken if `guard` holds, NULL: always. */
static void emit_direct_jump(const struct block_info *info, Addr target, IRExpr *guard,
                             const VexGuestLayout *layout)
{
    struct code_place place = code_map_find(&core.code, target);

    /* What happens in stubs is the caller's; anonymous code has its own test. */
    if (place.plt || is_anonymous(&place) || place.function == info->function)
        return;
    if (guard)
        call_if(guard, 2, "slow_mismatch", slow_mismatch,
                mkIRExprVec_2(address_of(block_info_at(target)), stack_pointer(layout)));
    else
        emit_tail_call(block_info_at(target), layout);
}

static void emit_budget_check(IRExpr *before, UInt done)
{
    IRExpr *executed = op(Iop_Add64, before, word(done));
    IRExpr *over = op(Iop_CmpLE64U, word(options.budget), executed);

    call_if(over, 1, "slow_budget", slow_budget, mkIRExprVec_1(word(done)));
}

/* ---- Python ---- */

/* NULL unless the place is in the evaluator of a CPython whose frames are watched, or is where the
 * evaluator is entered. */
static struct python_module *watched_python(const struct code_place *place)
{
    struct python_module *python = place->module->python;

    if (!options.python || !python || !place->function ||
        (place->function->start != python->evaluator &&
         !python_evaluates(python, place->function)))
        return NULL;
    if (python_prepare(python))
        return python;
    unknown_python(python);
    return NULL;
}

/* Is there anything but the current frame's in the word, which is known to be there? */
static void emit_frame_check(const struct python_module *python)
{
    const struct python_layout *layout = &python->layout;
    IRExpr *frame;

    if (python_word_is_known(python)) {
        frame = load(load_hot(HOT(python_word)));
    } else {
        frame = load_field(load_hot(HOT(python_state)), layout->state_frame);
        frame = load_field(frame, layout->c_frame_frame);
    }
    call_if(op(Iop_CmpNE64, frame, load_hot(HOT(python_frame))), 1, "slow_python_frame",
            slow_python_frame, mkIRExprVec_1(frame));
}

static void emit_line_check(const struct python_module *python)
{
    IRExpr *place = load_hot(HOT(python_ip));
    IRExpr *pointer;

    if (python->layout.ip_bytes == 8)
        pointer = load(place);
    else
        pointer = assign(Ity_I64, IRExpr_Unop(Iop_32Uto64, assign(Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, place))));
    IRExpr *gone = op(Iop_Sub64, pointer, load_hot(HOT(python_line)));
    call_if(op(Iop_CmpLE64U, load_hot(HOT(python_line_size)), gone), 0, "slow_python_line",
            slow_python_line, mkIRExprVec_0());
}

/* Where other code may have run in between, or the word's place is still to be learnt. */
static void emit_python_start(struct python_module *python, const struct block_info *info,
                              const struct code_place *place)
{
    if (info->address == python->evaluator + python->module->bias) {
        IRExpr *state =
            assign(Ity_I64, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RDI), Ity_I64));
        call_if(IRExpr_Const(IRConst_U1(True)), 2, "slow_python_enter", slow_python_enter,
                mkIRExprVec_2(address_of(python), state));
        return;
    }
    if (python_evaluates(python, place->function) &&
        (!python_word_is_known(python) || info->after_call || python->handlers))
        emit_frame_check(python);
}

/* ---- the whole block ---- */

static void emit_start(struct block_info *info, const struct code_place *place,
                       struct python_module *python, const VexGuestLayout *layout)
{
    hot_base = assign(Ity_I64, IRExpr_Get(layout->total_sizeB, Ity_I64));
    if (is_anonymous(place))
        emit_anonymous_check(info, layout);
    if (python)
        emit_python_start(python, info, place);
    store_hot(HOT(block), word(info->number));
}

/* Counts a repeating instruction where it is left for another address. */
static void emit_count_at_exit(const struct block_info *info, const struct segment *segment,
                               const IRStmt *exit)
{
    if (is_fault(exit->Ist.Exit.jk) || goes_to(exit->Ist.Exit.dst, segment->address))
        return;
    emit_count(info, segment, widen(exit->Ist.Exit.guard));
}

static void emit_body(struct block_info *info, const struct code_place *place,
                      const struct plan *plan, const IRSB *block, Int at,
                      const struct python_module *python, const VexGuestLayout *layout)
{
    UInt next_segment = 0, done = 0;
    const struct segment *segment = NULL;
    Addr instruction = 0;
    Bool frame_stored = False;
    IRExpr *before = options.budget ? load_hot(HOT(instructions)) : NULL;

    for (; at < block->stmts_used; at++) {
        IRStmt *statement = block->stmts[at];
        if (statement->tag == Ist_IMark) {
            /* Left for the next instruction: one that repeated itself is done. */
            if (segment && segment->repeats)
                emit_count(info, segment, word(1));
            segment = segment && segment->repeats ? NULL : segment;
            add(statement);
            if (next_segment < plan->segment_count &&
                plan->segments[next_segment].address == statement->Ist.IMark.addr) {
                segment = &plan->segments[next_segment++];
                if (!segment->repeats && segment->instructions)
                    emit_count(info, segment, word(1));
            }
            if (options.budget)
                emit_budget_check(before, done);
            instruction = statement->Ist.IMark.addr;
            done += is_request(statement->Ist.IMark.addr, statement->Ist.IMark.len) ? 5 : 1;
            continue;
        }
        if (divides(statement))
            add(IRStmt_Put(layout->offset_IP, word(instruction)));
        if (statement->tag == Ist_Exit && frame_stored) {
            emit_frame_check(python);
            frame_stored = False;
        }
        if (statement->tag == Ist_Exit && segment && segment->repeats)
            emit_count_at_exit(info, segment, statement);
        if (statement->tag == Ist_Exit && statement->Ist.Exit.jk == Ijk_Boring && !place->plt)
            emit_direct_jump(info, statement->Ist.Exit.dst->Ico.U64, statement->Ist.Exit.guard,
                             layout);
        add(statement);
        /* A new frame is not complete yet when it is stored, but at the end of the block it is. */
        frame_stored |= python && python_word_is_known(python) &&
                        may_set_frame(python, block, statement);
        if (python && core.options.python_lines && may_set_line(python, block, statement))
            emit_line_check(python);
    }
    if (frame_stored)
        emit_frame_check(python);
    if (segment && segment->repeats && !next_is(block, segment->address))
        emit_count(info, segment, word(1));
}

/* A block that runs on into another function ends there. */
static void cut_at_function_end(IRSB *block, const struct code_place *place)
{
    if (place->plt || !place->end)
        return;
    for (Int i = 0; i < block->stmts_used; i++) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag != Ist_IMark || statement->Ist.IMark.addr < place->end)
            continue;
        block->stmts_used = i;
        block->next = word(statement->Ist.IMark.addr);
        block->jumpkind = Ijk_Boring;
        return;
    }
}

static void emit_end(struct block_info *info, const struct code_place *place,
                     const struct plan *plan, const IRSB *block, const VexGuestLayout *layout)
{
    switch (block->jumpkind) {
    case Ijk_Call:
        if (watched_python(place))
            block_info_at(plan->last_address + plan->last_length)->after_call = True;
        emit_call(block, plan, info, layout);
        break;
    case Ijk_Ret:
        if (watched_python(place))
            call_if(IRExpr_Const(IRConst_U1(True)), 0, "slow_python_leave", slow_python_leave,
                    mkIRExprVec_0());
        emit_return(block, layout);
        break;
    case Ijk_Boring:
        if (block->next->tag == Iex_Const && !place->plt)
            emit_direct_jump(info, block->next->Iex.Const.con->Ico.U64, NULL, layout);
        else if (block->next->tag != Iex_Const && place->plt)
            emit_stub_jump(block);
        else if (block->next->tag != Iex_Const)
            emit_indirect_jump(block, place, info, layout);
        break;
    default:
        break;
    }
}

IRSB *instrument_block(VgCallbackClosure *closure, IRSB *block, const VexGuestLayout *layout,
                       const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                       IRType host_word)
{
    static struct plan plan;
    struct code_place place = code_map_translate(&core.code, closure->readdr);
    struct block_info *info = block_info_at(closure->readdr);
    Int at = 0;

    tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
    (void)host;
    if (is_anonymous(&place))
        code_map_translated(&core.code, &place, closure->readdr,
                            (const uint8_t *)extents->base[0], extents->len[0]);
    info->function = place.function;
    info->module = place.module;
    cut_at_function_end(block, &place);
    struct python_module *python = watched_python(&place);
    Bool evaluates = python && python_evaluates(python, place.function);
    make_plan(&plan, info, block, evaluates ? python : NULL);
    out = deepCopyIRSBExceptStmts(block);
    for (; at < block->stmts_used && block->stmts[at]->tag != Ist_IMark; at++)
        add(block->stmts[at]);
    if (!plan.segment_count) {
        for (; at < block->stmts_used; at++)
            add(block->stmts[at]);
        return out;
    }
    emit_start(info, &place, python, layout);
    emit_body(info, &place, &plan, block, at, evaluates ? python : NULL, layout);
    emit_end(info, &place, &plan, block, layout);
    return out;
}

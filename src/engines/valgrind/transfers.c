#include "transfers.h"
#include "children.h"
#include "ir.h"

#include "core/platform.h"
#include "engines/x86_64/stack_pointer.h"

#include <stddef.h>

#define STACK_ENTRY_BYTES 32
_Static_assert(sizeof(struct stack_entry) == STACK_ENTRY_BYTES, "inline code knows the layout");

/* Of the newest entry, from hot.top. */
#define NEWEST(field) ((Long)offsetof(struct stack_entry, field) - STACK_ENTRY_BYTES)

Bool transfer_is_anonymous(const struct code_place *place)
{
    return place->module->kind == CODE_ANONYMOUS || place->module->kind == CODE_JIT;
}

IRExpr *transfer_current(struct translation *translation)
{
    if (!translation->current)
        translation->current = ir_hot(HOT(current));
    return translation->current;
}

/* ---- finding the child ---- */

/* Adds to a reason to call a slow path, a word: that there is no room for another entry. There is
 * always room, see core_keep_room, unless recursion is folded. */
static IRExpr *or_stack_is_full(IRExpr *reason)
{
    IRExpr *full = ir_op(Iop_CmpEQ64, ir_hot(HOT(top)), ir_hot(HOT(limit)));

    return ir_op(Iop_Or64, reason, ir_widen(full));
}

static IRExpr *is_other(IRExpr *found, IRExpr *wanted)
{
    if (!core.options.max_contexts)
        return ir_op(Iop_CmpNE64, found, wanted);
    return ir_one_op(Iop_CmpNEZ64, or_stack_is_full(ir_op(Iop_Xor64, found, wanted)));
}

static void enter(struct translation *translation, IRExpr *child)
{
    ir_add_to(child, offsetof(struct context, calls), ir_word(1));
    ir_set_hot(HOT(current), child);
    translation->current = child;
}

/* The place in `children` of what a jump from the current context to `target` enters, or a call
 * from `site`, if that is not NULL: site * SITE_STEP. */
struct lookup {
    IRExpr *place;
    IRExpr *differs; /* a word: not 0 if something else is there */
};

static struct lookup look_up(struct translation *translation, IRExpr *site, IRExpr *target)
{
    IRExpr *key = ir_load(transfer_current(translation), offsetof(struct context, key));
    if (site)
        key = ir_op(Iop_Add64, key, site);
    IRExpr *spread = target->tag == Iex_Const
                         ? ir_word(2 * target->Iex.Const.con->Ico.U64 & CHILDREN_MASK)
                         : ir_op(Iop_Shl64, target, IRExpr_Const(IRConst_U8(1)));
    IRExpr *place = ir_op(Iop_And64, ir_op(Iop_Add64, key, spread), ir_word(CHILDREN_MASK));
    IRExpr *other_key = ir_op(Iop_Xor64, key, ir_load(place, (Addr)&children->key));
    IRExpr *other_target = ir_op(Iop_Xor64, target, ir_load(place, (Addr)&children->target));

    return (struct lookup){.place = place, .differs = ir_op(Iop_Or64, other_key, other_target)};
}

static IRExpr *found_child(const struct lookup *lookup)
{
    return ir_load(lookup->place, (Addr)&children->context);
}

/* ---- calls ---- */

/* Pushes an entry for the return of the call at the block's end; there is room. */
static void push(struct translation *translation)
{
    const struct plan *plan = &translation->plan;
    IRExpr *top = ir_hot(HOT(top));

    ir_store(top, offsetof(struct stack_entry, return_address),
             ir_word(plan->last_address + plan->last_length));
    ir_store(top, offsetof(struct stack_entry, stack_pointer),
             ir_stack_pointer_before_call(translation->block));
    ir_store(top, offsetof(struct stack_entry, context), transfer_current(translation));
    ir_set_hot(HOT(top), ir_op(Iop_Add64, top, ir_word(STACK_ENTRY_BYTES)));
}

static void indirect_call(struct translation *translation, UInt site)
{
    IRExpr *target = translation->block->next;
    struct lookup lookup = look_up(translation, ir_word(site * SITE_STEP), target);
    IRExpr *reason = core.options.max_contexts ? or_stack_is_full(lookup.differs) : lookup.differs;

    IR_CALL_IF(ir_one_op(Iop_CmpNEZ64, reason), slow_call_indirect,
               mkIRExprVec_2(ir_word(site), target));
    push(translation);
    enter(translation, found_child(&lookup));
}

static void direct_call(struct translation *translation, UInt site, Addr target)
{
    const struct call_site *known = call_site_add(site, translation->info, target);
    IRExpr *current = transfer_current(translation);
    IRExpr *child, *base;
    Long child_offset;

    if (known->varies) {
        indirect_call(translation, site);
        return;
    }
    if (known->slot != NO_SLOT) {
        Long slot = offsetof(struct context, slots) + known->slot * sizeof(struct context_slot);
        base = current;
        child_offset = slot + offsetof(struct context_slot, child);
        child = is_other(ir_load(current, slot), ir_word(site));
    } else {
        IRExpr *key = ir_op(Iop_Add64, ir_load(current, offsetof(struct context, key)),
                            ir_word(site * SITE_STEP));
        base = ir_op(Iop_And64, key, ir_word(CHILDREN_MASK));
        child_offset = (Addr)&children->context;
        child = is_other(key, ir_load(base, (Addr)&children->key));
    }
    IR_CALL_IF(child, slow_call, mkIRExprVec_1(ir_word(site)));
    push(translation);
    enter(translation, ir_load(base, child_offset));
}

/* A call into a PLT: whom it enters is known at the stub's end. */
static void stub_call(struct translation *translation, UInt site)
{
    if (core.options.max_contexts)
        IR_CALL_IF(ir_one_op(Iop_CmpNEZ64, or_stack_is_full(ir_word(0))), slow_grow,
                   mkIRExprVec_0());
    push(translation);
    ir_set_hot(HOT(pending_site), ir_word(site));
}

void transfer_call(struct translation *translation)
{
    const struct plan *plan = &translation->plan;
    const IRSB *block = translation->block;

    /* `call next` only fetches its own address. */
    if (plan_next_is(block, plan->last_address + plan->last_length))
        return;
    UInt site = tree_site(&core.tree, plan->last_address, translation->info->module);
    if (block->next->tag != Iex_Const) {
        indirect_call(translation, site);
        return;
    }
    Addr target = block->next->Iex.Const.con->Ico.U64;
    if (code_map_peek(&core.code, target).plt)
        stub_call(translation, site);
    else
        direct_call(translation, site, target);
}

void transfer_stub_jump(struct translation *translation)
{
    IRExpr *target = translation->block->next;
    IRExpr *site = ir_hot(HOT(pending_site));
    struct lookup lookup =
        look_up(translation, ir_op(Iop_Shl64, site, IRExpr_Const(IRConst_U8(5))), target);

    ir_set_hot(HOT(pending_site), ir_word(0));
    IR_CALL_IF(ir_one_op(Iop_CmpNEZ64, lookup.differs), slow_stub, mkIRExprVec_2(site, target));
    enter(translation, found_child(&lookup));
}

/* ---- returns ---- */

/* `ret` that takes nothing but the return address off the stack, which is then just below it. */
static Bool is_plain_return(const struct plan *plan)
{
    return ((const UChar *)plan->last_address)[plan->last_length - 1] == 0xc3;
}

void transfer_return(struct translation *translation)
{
    IRExpr *target = translation->block->next;
    IRExpr *sp = ir_stack_pointer(translation->block);
    IRExpr *top = ir_hot(HOT(top));
    IRExpr *other_target = ir_op(Iop_Xor64, target, ir_load(top, NEWEST(return_address)));
    IRExpr *other_sp = ir_op(Iop_Xor64, sp, ir_load(top, NEWEST(stack_pointer)));
    IRExpr *differs = ir_one_op(Iop_CmpNEZ64, ir_op(Iop_Or64, other_target, other_sp));

    if (is_plain_return(&translation->plan))
        IR_CALL_IF(differs, slow_return, mkIRExprVec_0());
    else
        IR_CALL_IF(differs, slow_return_to, mkIRExprVec_1(target));
    top = ir_hot(HOT(top));
    ir_set_hot(HOT(current), ir_load(top, NEWEST(context)));
    ir_set_hot(HOT(top), ir_op(Iop_Add64, top, ir_word(-STACK_ENTRY_BYTES)));
}

/* ---- jumps ---- */

/* A jump inside its function can change the frame only if the stack pointer was moved: by its block,
 * other than by what `ret` and `pop` do, or by another block of its function (stack_pointer.h).
 * code_function.engine says the latter: a word of ones once such a block was seen, nothing before.
 * It is read where jumps are made until Valgrind makes their blocks anew. */
static Bool moves_stack_pointer(const struct translation *translation)
{
    const IRSB *block = translation->block;

    for (Int i = 0; i < block->stmts_used; i++)
        if (block->stmts[i]->tag == Ist_Put &&
            block->stmts[i]->Ist.Put.offset == translation->layout->offset_SP)
            return True;
    return False;
}

static Bool sets_stack_pointer(const IRSB *block)
{
    struct instruction instruction;

    for (Int i = 0; i < block->stmts_used; i++)
        if (block->stmts[i]->tag == Ist_IMark &&
            instruction_decode((const uint8_t *)block->stmts[i]->Ist.IMark.addr,
                               block->stmts[i]->Ist.IMark.len, &instruction) &&
            stack_pointer_is_set(&instruction))
            return True;
    return False;
}

void transfer_look_at(const struct translation *translation)
{
    struct code_function *function = translation->info->function;

    if (!function || function->engine || !moves_stack_pointer(translation) ||
        !sets_stack_pointer(translation->block))
        return;
    function->engine = (void *)UINTPTR_MAX;
    blocks_make_stale(function->module->bias + function->start,
                      function->module->bias + function->end);
}

/* The stack pointer is above the frame, or suspiciously far below its beginning. */
static IRExpr *frame_is_left(const struct translation *translation)
{
    IRExpr *bottom = ir_load(ir_hot(HOT(top)), NEWEST(stack_pointer));
    IRExpr *depth = ir_op(Iop_Sub64, ir_op(Iop_Add64, bottom, ir_word(-8)),
                          ir_stack_pointer(translation->block));

    return ir_op(Iop_CmpLT64U, ir_hot(HOT(reach)), depth);
}

void transfer_indirect_jump(struct translation *translation)
{
    IRExpr *target = translation->block->next;
    uint64_t start = translation->place.start, end = translation->place.end;
    const struct code_function *function = translation->info->function;
    IRExpr *leaves = IRExpr_Const(IRConst_U1(True));

    if (end || platform_find_mapping(translation->info->address, &start, &end)) {
        IRExpr *distance = ir_op(Iop_Sub64, target, ir_word(start));
        if (function && !function->engine)
            distance = ir_op(Iop_Or64, distance, ir_load(ir_word((Addr)&function->engine), 0));
        leaves = ir_op(Iop_CmpLE64U, ir_word(end - start), distance);
    }
    if ((function && function->engine) || moves_stack_pointer(translation))
        leaves = ir_one_op(Iop_CmpNEZ64,
                           ir_op(Iop_Or64, ir_widen(leaves), ir_widen(frame_is_left(translation))));
    IR_CALL_IF(leaves, slow_jump, mkIRExprVec_1(target));
}

/* A jump from a frame that was left, or with a call pending, is nothing to repeat. */
static void tail_call(struct translation *translation, Addr target)
{
    struct lookup lookup = look_up(translation, NULL, ir_word(target));
    IRExpr *reason = ir_op(Iop_Or64, lookup.differs, ir_widen(frame_is_left(translation)));

    IR_CALL_IF(ir_one_op(Iop_CmpNEZ64, reason), slow_tail_call, mkIRExprVec_1(ir_word(target)));
    enter(translation, found_child(&lookup));
}

void transfer_direct_jump(struct translation *translation, Addr target, IRExpr *guard)
{
    /* It may never be made: only when it is, code that nobody knew becomes a function there. */
    struct code_place place = code_map_peek(&core.code, target);
    struct block_info *source = translation->info;

    if (place.function && source->module->python &&
        python_evaluates(source->module->python, source->function)) {
        python_jumps_to(source->module->python, source->function, place.function, target);
        place = code_map_peek(&core.code, target);
    }

    /* A stub's end sees to what is entered, but takes the frame for granted. */
    if (place.plt) {
        IRExpr *left = guard ? guard : frame_is_left(translation);
        IR_CALL_IF(left, slow_jump, mkIRExprVec_1(ir_word(target)));
        return;
    }
    /* Anonymous code has its own test. */
    if (transfer_is_anonymous(&place) || place.function == translation->info->function)
        return;
    if (guard)
        IR_CALL_IF(guard, slow_jump, mkIRExprVec_1(ir_word(target)));
    else
        tail_call(translation, target);
}

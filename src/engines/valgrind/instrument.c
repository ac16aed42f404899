/*
 * instrument.c: adds counting and stack tracking to each translated block.
 *
 * What a block does, in order, all inline unless a guard fails:
 *
 *   start   of a block of CPython's evaluator: a look at the frame that it executes, core/python.h
 *   body    each segment is counted when it begins                 plan.h, counters.h
 *   end     calls, returns and jumps change the current context    transfers.h
 *
 * A block's start needs no test whether it is in its function's context, because whoever comes from
 * another function sees to it: jumps at their source, returns by their entry, signal handlers and
 * threads where they begin (events.c). Only anonymous code has the test, at each block.
 *
 * Counting at the start is exact because chasing is off: a block is left only at its end, or by a
 * fault, which events.c takes back. To know what was counted, it must know which block faulted.
 * Most do not say, because any that contains the instruction will do: they all end alike. The
 * others say their number in hot.block: those that run on, anonymous code, which changes, and with a
 * budget all.
 *
 * Cost: four host instructions a block, at line detail ten; a call or a return about fourteen.
 */
#include "counters.h"
#include "engine.h"
#include "ir.h"
#include "places.h"
#include "plan.h"
#include "python_watch.h"
#include "transfers.h"

#include "pub_tool_libcassert.h"

#include "libvex_guest_amd64.h"

#include <stddef.h>

/* ---- the start ---- */

/* Anonymous code has no boundaries to compare a jump's target with, unless it has names, and those
 * may come and go. */
static void emit_anonymous_check(const struct block_info *info)
{
    IRExpr *code = ir_load(ir_hot(HOT(current)), offsetof(struct context, code));
    IRExpr *differs;

    if (info->function) {
        differs = ir_op(Iop_CmpNE64, code, ir_address(info->function));
    } else {
        IRExpr *kind = ir_op(Iop_And64, ir_load(code, offsetof(struct code_function, flags)),
                             ir_word(CODE_FUNCTION_ANONYMOUS | CODE_FUNCTION_GONE));
        differs = ir_op(Iop_CmpNE64, kind, ir_word(CODE_FUNCTION_ANONYMOUS));
    }
    IR_CALL_IF(differs, slow_jump, mkIRExprVec_1(ir_word(info->address)));
}

static void emit_start(struct translation *translation, struct python_module *python)
{
    struct block_info *info = translation->info;
    Bool anonymous = transfer_is_anonymous(&translation->place);

    if (anonymous)
        emit_anonymous_check(info);
    if (python)
        python_emit_start(translation, python);
    if (code_function_swaps(info->function) &&
        info->address == info->function->start + info->module->bias)
        IR_CALL_IF(IRExpr_Const(IRConst_U1(True)), slow_swap, mkIRExprVec_0());
    info->says_number = translation->plan.runs_on || anonymous || options.budget;
    if (info->says_number)
        ir_set_hot(HOT(block), ir_word(info->number));
}

/* ---- the body ---- */

static void emit_budget_check(IRExpr *before, UInt done, Addr pc)
{
    IRExpr *executed = ir_op(Iop_Add64, before, ir_word(done));

    IR_CALL_IF(ir_op(Iop_CmpLE64U, ir_word(options.budget), executed), slow_budget,
               mkIRExprVec_1(ir_word(pc)));
}

static void emit_count(struct translation *translation, const struct segment *segment,
                       IRExpr *times)
{
    counters_emit(translation->info, segment, transfer_current(translation), times,
                  translation->evaluates);
}

/* What is to be done before a statement that is not a mark. `segment` is the one it is in. */
static void emit_before(struct translation *translation, const struct segment *segment,
                        const IRStmt *statement, Addr instruction)
{
    /* VEX keeps the program counter exact for memory accesses only. */
    if (places_divides(statement))
        ir_add(IRStmt_Put(translation->layout->offset_IP, ir_word(instruction)));
    if (statement->tag != Ist_Exit)
        return;
    /* A repeating instruction is counted where it is left for another address. */
    if (segment && segment->repeats && !plan_is_fault(statement->Ist.Exit.jk) &&
        !plan_goes_to(statement->Ist.Exit.dst, segment->address))
        emit_count(translation, segment, ir_widen(statement->Ist.Exit.guard));
    if (statement->Ist.Exit.jk == Ijk_Boring && !translation->place.plt)
        transfer_direct_jump(translation, statement->Ist.Exit.dst->Ico.U64,
                             statement->Ist.Exit.guard);
}

/* From statement `at` on, which is the first instruction's mark. `python` is NULL unless it is a
 * block of a watched evaluator. */
static void emit_body(struct translation *translation, Int at, struct python_module *python)
{
    const struct plan *plan = &translation->plan;
    const IRSB *block = translation->block;
    const struct segment *segment = NULL, *next = plan->segments;
    IRExpr *before = options.budget ? ir_hot(HOT(instructions)) : NULL;
    Addr instruction = 0;
    Bool frame_stored = False;
    UInt done = 0,
         left = 0; /* of the block's instructions; of those that were counted with this one */

    for (; at < block->stmts_used; at++) {
        IRStmt *statement = block->stmts[at];
        if (statement->tag != Ist_IMark) {
            if (statement->tag == Ist_Exit && frame_stored) {
                python_emit_frame_check(translation, python);
                frame_stored = False;
            }
            emit_before(translation, segment, statement, instruction);
            ir_add(statement);
            /* A new frame is not complete yet when it is stored; at the end of the block it is. */
            frame_stored |= python && translation->info->knows_word &&
                            python_may_set_frame(python, translation->info, block, statement);
            if (translation->evaluates && python_may_set_line(python, block, statement))
                python_emit_line_check(translation, statement, left);
            continue;
        }
        instruction = statement->Ist.IMark.addr;
        /* Left for the next instruction: one that repeated itself is done. */
        if (segment && segment->repeats) {
            emit_count(translation, segment, ir_word(1));
            segment = NULL;
        }
        ir_add(statement);
        if (next < plan->segments + plan->segment_count && next->address == instruction) {
            segment = next++;
            left = segment->repeats ? 0 : segment->instructions;
            if (left)
                emit_count(translation, segment, ir_word(1));
        }
        if (options.budget)
            emit_budget_check(before, done, instruction);
        UInt instructions = plan_instructions_at(instruction, statement->Ist.IMark.len);
        done += instructions;
        left -= instructions < left ? instructions : left;
    }
    if (frame_stored)
        python_emit_frame_check(translation, python);
    if (segment && segment->repeats && !plan_next_is(block, segment->address))
        emit_count(translation, segment, ir_word(1));
}

/* ---- the end ---- */

static void emit_end(struct translation *translation, const struct python_module *python)
{
    const IRSB *block = translation->block;
    const struct plan *plan = &translation->plan;
    Bool plt = translation->place.plt;

    switch (block->jumpkind) {
    case Ijk_Call:
        if (python)
            block_info_at(plan->last_address + plan->last_length)->after_call = True;
        transfer_call(translation);
        break;
    case Ijk_Ret:
        if (python)
            IR_CALL_IF(IRExpr_Const(IRConst_U1(True)), slow_python_leave, mkIRExprVec_0());
        transfer_return(translation);
        break;
    case Ijk_Boring:
        if (block->next->tag == Iex_Const && !plt)
            transfer_direct_jump(translation, block->next->Iex.Const.con->Ico.U64, NULL);
        else if (block->next->tag != Iex_Const && plt)
            transfer_stub_jump(translation);
        else if (block->next->tag != Iex_Const)
            transfer_indirect_jump(translation);
        break;
    default:
        break;
    }
    if (plan->runs_on)
        ir_set_hot(HOT(block), ir_word(0));
}

/* The first block of all tells where Valgrind keeps the shadow registers. */
static void emit_hello(void)
{
    static Bool said;

    if (!said)
        ir_call_with_registers("slow_hello", slow_hello);
    said = True;
}

IRSB *instrument_block(VgCallbackClosure *closure, IRSB *block, const VexGuestLayout *layout,
                       const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                       IRType host_word)
{
    static struct translation translation;
    IRSB *out = emptyIRSB();
    Int at = 0;

    tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
    tl_assert(layout->total_sizeB == sizeof(VexGuestAMD64State));
    (void)host;
    translation = (struct translation){
        .block = block,
        .info = block_info_at(closure->readdr),
        .place = code_map_translate(&core.code, closure->readdr),
        .layout = layout,
    };
    if (transfer_is_anonymous(&translation.place))
        code_map_translated(&core.code, &translation.place, closure->readdr,
                            (const uint8_t *)extents->base[0], extents->len[0]);
    struct python_module *python = python_watched(&translation.place);
    Bool evaluates = python && python_evaluates(python, translation.place.function);
    translation.info->function = translation.place.function;
    translation.info->module = translation.place.module;
    places_begin(translation.info, block, transfer_is_anonymous(&translation.place));
    plan_cut(block, &translation.place);
    plan_make(&translation.plan, translation.info, block);
    translation.evaluates = evaluates && core.options.python_lines;
    out->tyenv = block->tyenv;
    out->next = block->next;
    out->jumpkind = block->jumpkind;
    out->offsIP = block->offsIP;
    ir_begin(out, layout);
    emit_hello();
    for (; at < block->stmts_used && block->stmts[at]->tag != Ist_IMark; at++)
        ir_add(block->stmts[at]);
    if (!translation.plan.segment_count) {
        for (; at < block->stmts_used; at++)
            ir_add(block->stmts[at]);
        return out;
    }
    transfer_look_at(&translation);
    python_emit_freer(&translation);
    emit_start(&translation, python);
    emit_body(&translation, at, evaluates ? python : NULL);
    emit_end(&translation, python);
    return out;
}

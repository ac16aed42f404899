#include "python_watch.h"
#include "ir.h"
#include "places.h"
#include "engines/x86_64/python_prologue.h"

#include "libvex_guest_amd64.h"

#include <stddef.h>

struct python_module *python_watched(const struct code_place *place)
{
    struct python_module *python = options.python ? python_at(place) : NULL;

    if (!python || python_prepare(python))
        return python;
    python_refuse(python);
    return NULL;
}

void python_emit_freer(const struct translation *translation)
{
    struct python_module *python = translation->place.module->python;

    if (options.python && python && translation->info->address == python_freer(python))
        IR_CALL_IF(IRExpr_Const(IRConst_U1(True)), slow_python_freed,
                   mkIRExprVec_1(ir_register(offsetof(VexGuestAMD64State, guest_RDI))));
}

/* ---- which stores concern Python ---- */

/* What a temporary is made of; NULL: it is none. */
static const IRExpr *value_of(const IRSB *block, const IRExpr *expression)
{
    for (Int i = 0; i < block->stmts_used && expression->tag == Iex_RdTmp; i++) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.tmp == expression->Iex.RdTmp.tmp)
            return statement->Ist.WrTmp.data;
    }
    return NULL;
}

/* The value of a temporary as a register of the program (its offset, -1: none) and a constant. */
static Int base_register(const IRSB *block, const IRExpr *expression, Long *constant)
{
    const IRExpr *value;

    *constant = 0;
    while ((value = value_of(block, expression))) {
        if (value->tag == Iex_Get)
            return value->Iex.Get.offset;
        if (value->tag == Iex_Binop && value->Iex.Binop.arg2->tag == Iex_Const &&
            (value->Iex.Binop.op == Iop_Add64 || value->Iex.Binop.op == Iop_Sub64)) {
            Long term = (Long)value->Iex.Binop.arg2->Iex.Const.con->Ico.U64;
            *constant += value->Iex.Binop.op == Iop_Add64 ? term : -term;
            value = value->Iex.Binop.arg1;
        } else if (value->tag != Iex_RdTmp) {
            break;
        }
        expression = value;
    }
    return -1;
}

/* How the address of a store ends: the constant that is added last. */
static Long displacement(const IRSB *block, const IRExpr *address)
{
    const IRExpr *value = value_of(block, address);

    return value && value->tag == Iex_Binop && value->Iex.Binop.op == Iop_Add64 &&
                   value->Iex.Binop.arg2->tag == Iex_Const
               ? (Long)value->Iex.Binop.arg2->Iex.Const.con->Ico.U64
               : 0;
}

static Bool is_loaded(const IRSB *block, const IRExpr *expression)
{
    const IRExpr *value = value_of(block, expression);

    return value && value->tag == Iex_Load;
}

static Int store_bytes(const IRSB *block, const IRStmt *statement)
{
    return statement->tag == Ist_Store
               ? sizeofIRType(typeOfIRExpr(block->tyenv, statement->Ist.Store.data))
               : 0;
}

/* The word is either in a C frame of the evaluator, which it reaches by the stack pointer or a
 * frame pointer, or in the thread state. Of an address, the constant is from the stack pointer on as
 * it was when the block began. */
Bool python_may_set_frame(struct python_module *python, const struct block_info *info,
                          const IRSB *block, const IRStmt *statement)
{
    Addr evaluator = python->evaluator + python->module->bias;
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
    if (python_finds_frame(python)) {
        Long made = info->address == evaluator ? python->stack_bytes : 0;
        return base == offsetof(VexGuestAMD64State, guest_RSP) &&
               python_stores_word(python, constant + made, size_bytes);
    }
    return base == offsetof(VexGuestAMD64State, guest_RSP) ||
           (base == offsetof(VexGuestAMD64State, guest_RBP) && constant < 0);
}

/* An address on the stack is no instruction pointer: a thread state has its C frame's at the same offset,
 * in 3.11 and 3.12. */
Bool python_may_set_line(const struct python_module *python, const IRSB *block,
                         const IRStmt *statement)
{
    Long constant;

    return store_bytes(block, statement) == python->layout.ip_bytes &&
           displacement(block, statement->Ist.Store.addr) == python->layout.frame_ip &&
           base_register(block, statement->Ist.Store.data, &constant) !=
               offsetof(VexGuestAMD64State, guest_RSP);
}

/* ---- inline code ---- */

/* Is there anything but the current frame's in the word? While the evaluator is being entered its C
 * frame, with the word, is not made yet; but then it is not the thread state's either. */
void python_emit_frame_check(struct translation *translation, const struct python_module *python)
{
    const struct python_layout *layout = &python->layout;
    IRExpr *frame;

    Bool enters = translation->info->address == python->evaluator + python->module->bias;

    if (translation->info->knows_word &&
        !(enters && layout->has_c_frame && !translation->info->brings_frame)) {
        frame = ir_load(ir_hot(HOT(python_word)), 0);
    } else {
        frame = ir_load(ir_hot(HOT(python_state)), layout->state_frame);
        frame = ir_load(frame, layout->c_frame_frame);
    }
    IR_CALL_IF(ir_op(Iop_CmpNE64, frame, ir_hot(HOT(python_frame))), slow_python_frame,
               mkIRExprVec_1(frame));
    translation->current = NULL;
}

/* What is stored may be another frame's, or no frame's: the core will see. Where the evaluator returns,
 * or what it kept in memory goes back there, it mostly is, and is looked at here. */
void python_emit_line_check(struct translation *translation, const IRStmt *store, UInt left)
{
    const IRSB *block = translation->block;
    IRExpr *stored = store->Ist.Store.data;
    Bool wide = typeOfIRExpr(block->tyenv, stored) == Ity_I64;
    IRExpr *pointer = wide ? stored : ir_one_op(Iop_32Uto64, stored);
    IRExpr *gone = ir_op(Iop_Sub64, pointer, ir_hot(HOT(python_line)));
    IRExpr *changed = ir_op(Iop_CmpLE64U, ir_hot(HOT(python_line_size)), gone);

    if (block->jumpkind == Ijk_Ret || is_loaded(block, stored))
        changed = ir_op(Iop_And1, changed,
                        ir_op(Iop_CmpEQ64, store->Ist.Store.addr, ir_hot(HOT(python_ip))));
    IR_CALL_IF(changed, slow_python_line, mkIRExprVec_1(ir_word(left)));
    translation->current = NULL;
}

/* Where other code may have run in between, or the word's place is still to be learnt. */
void python_emit_start(struct translation *translation, struct python_module *python)
{
    struct block_info *info = translation->info;

    if (!places_searching()) {
        info->knows_word = python_word_is_known(python);
        info->brings_frame = python_brings_frame(python);
        info->looks_at_start = python_evaluates(python, translation->place.function) &&
                               (!info->knows_word || info->after_call || python->handlers);
    }
    if (info->address == python->evaluator + python->module->bias)
        IR_CALL_IF(IRExpr_Const(IRConst_U1(True)), slow_python_enter,
                   mkIRExprVec_3(ir_address(python),
                                 ir_register(offsetof(VexGuestAMD64State, guest_RDI)),
                                 ir_register(offsetof(VexGuestAMD64State, guest_RSI))));
    else if (info->looks_at_start)
        python_emit_frame_check(translation, python);
}

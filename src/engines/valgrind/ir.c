#include "ir.h"

#include "pub_tool_machine.h"

static IRSB *out;
static const VexGuestLayout *registers;

void ir_begin(IRSB *block, const VexGuestLayout *layout)
{
    out = block;
    registers = layout;
}

void ir_add(IRStmt *statement)
{
    addStmtToIRSB(out, statement);
}

static IRExpr *assign(IRExpr *value, IRType type)
{
    IRTemp temp = newIRTemp(out->tyenv, type);

    ir_add(IRStmt_WrTmp(temp, value));
    return IRExpr_RdTmp(temp);
}

IRExpr *ir_word(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

IRExpr *ir_address(const void *address)
{
    return ir_word((ULong)(Addr)address);
}

IRExpr *ir_op(IROp operation, IRExpr *left, IRExpr *right)
{
    Bool decides = operation == Iop_CmpEQ64 || operation == Iop_CmpNE64 ||
                   operation == Iop_CmpLE64U || operation == Iop_CmpLT64U || operation == Iop_And1;

    return assign(IRExpr_Binop(operation, left, right), decides ? Ity_I1 : Ity_I64);
}

IRExpr *ir_one_op(IROp operation, IRExpr *argument)
{
    return assign(IRExpr_Unop(operation, argument), operation == Iop_CmpNEZ64 ? Ity_I1 : Ity_I64);
}

IRExpr *ir_widen(IRExpr *condition)
{
    return ir_one_op(Iop_1Uto64, condition);
}

/* An addition each time, so that it folds into the operand. */
static IRExpr *place(IRExpr *base, Long offset)
{
    return offset ? ir_op(Iop_Add64, base, ir_word(offset)) : base;
}

IRExpr *ir_load(IRExpr *base, Long offset)
{
    return assign(IRExpr_Load(Iend_LE, Ity_I64, place(base, offset)), Ity_I64);
}

void ir_store(IRExpr *base, Long offset, IRExpr *value)
{
    ir_add(IRStmt_Store(Iend_LE, place(base, offset), value));
}

void ir_add_to(IRExpr *base, Long offset, IRExpr *value)
{
    ir_store(base, offset, ir_op(Iop_Add64, ir_load(base, offset), value));
}

static IRExpr *half_of(IRExpr *word)
{
    return word->tag == Iex_Const ? IRExpr_Const(IRConst_U32((UInt)word->Iex.Const.con->Ico.U64))
                                  : assign(IRExpr_Unop(Iop_64to32, word), Ity_I32);
}

void ir_add_to_half(IRExpr *base, Long offset, IRExpr *value)
{
    IRExpr *half = assign(IRExpr_Load(Iend_LE, Ity_I32, place(base, offset)), Ity_I32);
    IRExpr *sum = assign(IRExpr_Binop(Iop_Add32, half, half_of(value)), Ity_I32);

    ir_store(base, offset, sum);
}

IRExpr *ir_register(Int offset)
{
    return assign(IRExpr_Get(offset, Ity_I64), Ity_I64);
}

IRExpr *ir_hot(UInt offset)
{
    return ir_register(registers->total_sizeB + offset);
}

void ir_set_hot(UInt offset, IRExpr *value)
{
    ir_add(IRStmt_Put(registers->total_sizeB + offset, value));
}

IRExpr *ir_stack_pointer(const IRSB *block)
{
    for (Int i = block->stmts_used; i-- > 0;) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag == Ist_Put && statement->Ist.Put.offset == registers->offset_SP)
            return statement->Ist.Put.data;
        /* Anything else that may change it? */
        if (statement->tag == Ist_PutI || statement->tag == Ist_Dirty)
            break;
    }
    return ir_register(registers->offset_SP);
}

IRExpr *ir_stack_pointer_before_call(const IRSB *block)
{
    IRExpr *after = ir_stack_pointer(block);

    for (Int i = block->stmts_used; after->tag == Iex_RdTmp && i-- > 0;) {
        const IRStmt *statement = block->stmts[i];
        if (statement->tag != Ist_WrTmp || statement->Ist.WrTmp.tmp != after->Iex.RdTmp.tmp)
            continue;
        const IRExpr *value = statement->Ist.WrTmp.data;
        if (value->tag == Iex_Binop && value->Iex.Binop.op == Iop_Sub64 &&
            value->Iex.Binop.arg2->tag == Iex_Const &&
            value->Iex.Binop.arg2->Iex.Const.con->Ico.U64 == 8)
            return value->Iex.Binop.arg1;
        break;
    }
    return ir_op(Iop_Add64, after, ir_word(8));
}

void ir_call_if(IRExpr *guard, const HChar *name, void *function, IRExpr **arguments)
{
    Int count = 0;

    while (arguments[count])
        count++;
    IRDirty *dirty = unsafeIRDirty_0_N(count, name, VG_(fnptr_to_fnentry)(function), arguments);
    dirty->guard = guard;
    ir_add(IRStmt_Dirty(dirty));
}

void ir_call_with_registers(const HChar *name, void *function)
{
    IRDirty *dirty =
        unsafeIRDirty_0_N(1, name, VG_(fnptr_to_fnentry)(function), mkIRExprVec_1(IRExpr_GSPTR()));

    /* VEX insists that it reads one. */
    dirty->nFxState = 1;
    dirty->fxState[0].fx = Ifx_Read;
    dirty->fxState[0].offset = registers->offset_SP;
    dirty->fxState[0].size = registers->sizeof_SP;
    ir_add(IRStmt_Dirty(dirty));
}

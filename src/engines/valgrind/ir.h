/*
 * ir.h: small words for writing VEX's flat IR.
 *
 * Between ir_begin and the end of instrument_block, everything written goes to one block. Each
 * function that returns an expression has put it into a temporary, so it may be used many times;
 * VEX folds those that are used once into operands.
 *
 * After a tool VEX cleans up little: a register of the program that is read twice is loaded twice,
 * so what a block already has in a temporary is best taken from there (ir_stack_pointer).
 */
#ifndef TRUEFLAME_VALGRIND_IR_H
#define TRUEFLAME_VALGRIND_IR_H

#include "engine.h"

void ir_begin(IRSB *out, const VexGuestLayout *layout);
void ir_add(IRStmt *statement);

IRExpr *ir_word(ULong value);
IRExpr *ir_address(const void *address);
/* Of words to a word, one of the comparisons of words that ir.c knows, or of conditions to another. */
IRExpr *ir_op(IROp operation, IRExpr *left, IRExpr *right);
IRExpr *ir_one_op(IROp operation, IRExpr *argument);
/* A condition as a word, 0 or 1. */
IRExpr *ir_widen(IRExpr *condition);

IRExpr *ir_load(IRExpr *base, Long offset);
void ir_store(IRExpr *base, Long offset, IRExpr *value);
/* memory[base + offset] += value, a word; half a word */
void ir_add_to(IRExpr *base, Long offset, IRExpr *value);
void ir_add_to_half(IRExpr *base, Long offset, IRExpr *value);

/* The running thread's `struct hot` lies in Valgrind's shadow registers, at no more cost than the
 * program's own registers. */
#define HOT(field) offsetof(struct hot, field)
IRExpr *ir_hot(UInt offset);
void ir_set_hot(UInt offset, IRExpr *value);

/* A register of the program. */
IRExpr *ir_register(Int offset);
/* The stack pointer at the end of `block`, which has been written up to its end. */
IRExpr *ir_stack_pointer(const IRSB *block);
/* As before the call at its end. */
IRExpr *ir_stack_pointer_before_call(const IRSB *block);

/* Calls a function of slow.c if `guard` holds. `arguments` is made by mkIRExprVec_N. They are
 * put into registers whether it holds or not: the fewer the better. */
void ir_call_if(IRExpr *guard, const HChar *name, void *function, IRExpr **arguments);
/* Calls it always, with where the program's registers are. */
void ir_call_with_registers(const HChar *name, void *function);
#define IR_CALL_IF(guard, function, ...) ir_call_if(guard, #function, function, __VA_ARGS__)

#endif

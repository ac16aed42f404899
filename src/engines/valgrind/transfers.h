/*
 * transfers.h: inline code for the ways control leaves a block.
 *
 *   call      child of current, see children.h                     else slow_call, ..._indirect
 *             push {return address, sp, current}; current = child
 *   return    newest entry has this target and sp                  else slow_return
 *             current = its context; pop
 *   jump      direct: to this function nothing at all, to another as an indirect call without push
 *             indirect: into this function, sp where the frame is  else slow_jump
 *   PLT stub  as an indirect call, whose entry was pushed by the call into the stub
 *
 * Each function below writes at the end of what has been written so far, where the program's
 * registers are as at the end of the block.
 */
#ifndef TRUEFLAME_VALGRIND_TRANSFERS_H
#define TRUEFLAME_VALGRIND_TRANSFERS_H

#include "plan.h"

/* A block that is being translated. */
struct translation {
    const IRSB *block; /* as VEX made it */
    struct block_info *info;
    struct code_place place;
    struct plan plan;
    Bool evaluates;  /* in CPython's evaluator, whose lines are asked for: counters.h */
    IRExpr *current; /* the current context, in a temporary; NULL: it is to be fetched */
    const VexGuestLayout *layout;
};

/* Code that the program made, named or not. */
Bool transfer_is_anonymous(const struct code_place *place);

/* The current context. */
IRExpr *transfer_current(struct translation *translation);

/* To be asked before the block's jumps are written: what the block does to the stack pointer may
 * matter to all jumps of its function. */
void transfer_look_at(const struct translation *translation);

void transfer_call(struct translation *translation);
void transfer_return(struct translation *translation);
void transfer_indirect_jump(struct translation *translation);
void transfer_stub_jump(struct translation *translation);
/* A direct jump, or a fall-through, to `target`; taken if `guard` holds, NULL: always. */
void transfer_direct_jump(struct translation *translation, Addr target, IRExpr *guard);

#endif

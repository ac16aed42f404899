/*
 * plan.h: what a block that VEX hands over is made of.
 *
 * A block is cut into segments, stretches of instructions that are counted together when the first
 * of them begins. Two things begin a new one: an instruction that repeats itself (REP) is a segment
 * of its own, counted when it is left for another address; and what follows an instruction with an
 * exit of its own may not run. Exits to faults do not count: what was counted too much is taken
 * back then (blocks.c).
 *
 * Where a segment ends does not depend on where its block began, with one exception: a block that
 * *runs on* ends because VEX or the function ended there, not the program's control flow.
 */
#ifndef TRUEFLAME_VALGRIND_PLAN_H
#define TRUEFLAME_VALGRIND_PLAN_H

#include "engine.h"

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
    Bool runs_on;
};

/* Cuts the block where its function ends, and one that runs on after its first exit. */
void plan_cut(IRSB *block, const struct code_place *place);

/* Fills `plan`, and the lengths and marks of `info`. */
void plan_make(struct plan *plan, struct block_info *info, const IRSB *block);

/* How many instructions of the program are behind one of VEX's. */
UInt plan_instructions_at(Addr address, UInt length);

/* A fault that the instruction asks for itself: nothing after it runs, and it is not done. */
Bool plan_is_fault(IRJumpKind kind);

Bool plan_goes_to(const IRConst *constant, Addr address);
Bool plan_next_is(const IRSB *block, Addr address);

#endif

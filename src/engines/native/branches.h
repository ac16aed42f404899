/*
 * branches.h: direct jumps and conditional branches.
 *
 * A conditional branch that runs on where it is not taken leaves what ran by then uncounted: taken,
 * it leads to a side exit behind the block, which counts, or straight to a block that begins with
 * the same count.
 */
#ifndef TRUEFLAME_NATIVE_BRANCHES_H
#define TRUEFLAME_NATIVE_BRANCHES_H

#include "engines/native/translation.h"

/* A jump that is linked to the block at `target`; its exit. */
uint32_t emit_jump_exit(struct translation *t, unsigned index, uint64_t target);

/* The instruction at `index`, jcc; loop or jrcxz. */
void emit_conditional(struct translation *t, unsigned index);
void emit_loop(struct translation *t, unsigned index);

/* Behind the block: where its branches lead that have yet to count. */
void emit_side_exits(struct translation *t);

#endif

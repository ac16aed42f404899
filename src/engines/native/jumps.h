/*
 * jumps.h: indirect jumps inside the cache, and the entries of blocks that they and indirect calls
 * go to; see jumps.c.
 */
#ifndef TRUEFLAME_NATIVE_JUMPS_H
#define TRUEFLAME_NATIVE_JUMPS_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"

enum target_kind { TARGET_JUMPED, TARGET_CALLED, TARGET_KINDS };

/* On to the block of the target in rcx; rax and rcx are borrowed, and for calls the flags are
 * saved away. */
void jumps_emit_go(struct emitter *e, enum target_kind kind);

/* The same for a jump that may be one within `function`, and has not moved the stack pointer out of
 * the frame: there is nothing to see but where it leads. Only the address is asked then. */
void jumps_emit_go_local(struct emitter *e, const struct code_function *function);

/* Code that comes before the block's: its entry for an indirect call, or a jump. */
void jumps_emit_entry(struct emitter *e, struct block *block, bool is_called);

/* Indirect jumps to the block's pc from within its function, too, go there at once. */
void jumps_remember_local(struct block *block);

/* Indirect jumps, or calls, to the block's pc go to the block from now on. */
void jumps_remember(struct block *block, enum target_kind kind);

/* The block is gone. */
void jumps_forget(const struct block *block);

/* All tables are empty: whoever jumps leaves the cache. */
void jumps_forget_all(void);

/* The entry for threads with everything in place, but another function's context. */
uint64_t jumps_transition_entry(struct block *block);

void jumps_init(void);

#endif

/*
 * leaves.h: calls of functions that are expected to call nothing themselves.
 *
 * Most calls are such. For as long as a leaf runs, nobody asks for its frame: no shadow entry is
 * pushed, the current context and its count stay the caller's. What a full call would do is only
 * noted in the thread (thread.leaf), and the leaf is counted in a register of its own:
 *
 *     call      thread.leaf = {the stack pointer, where its return goes on}
 *     ...       blocks of the leaf's own (BLOCK_LEAF), which count in vectors.h's `leaf`
 *     return    pops the address and goes to thread.leaf.code, the landing, which sees that the
 *               address and the stack pointer are right, and finds the child's context, into which
 *               it settles the count
 *
 * That is half the instructions of a full call. When a leaf does more than branch within its
 * function (a call, an indirect jump, a system call, a signal that comes), its frame is made: the
 * shadow entry is pushed as if the call had been a full one, and the program goes on in ordinary
 * blocks. A function that needs its frame often is not called as a leaf any more.
 *
 * Not with line detail, nor where threads take turns.
 */
#ifndef TRUEFLAME_NATIVE_LEAVES_H
#define TRUEFLAME_NATIVE_LEAVES_H

#include "engines/native/translation.h"

/* Is what `target` begins expected to be a leaf? */
bool leaves_expect(const struct translation *t, uint64_t target);

/* Before the return address is pushed. */
void leaves_emit_before_push(struct emitter *e);

/* The call of a leaf; the return address is pushed. `foreseen`: as for other calls (fast.c). */
void leaves_emit_call(struct translation *t, unsigned index, uint64_t target, bool foreseen);

/* A return in a block of a leaf. */
void leaves_emit_return(struct translation *t, unsigned index);

/* Does instruction `index`, with which no block of a leaf goes on, need the frame? */
bool leaves_end_at(const struct translation *t, unsigned index);

/* Did the thread leave the cache by exit `id` while a leaf ran? */
bool leaves_left_by(uint32_t id);

/* The leaf goes on at thread.pc: its block, or NULL if its frame is needed. */
struct block *leaves_go_on(struct native_thread *thread, uint32_t id);

/* The leaf's frame is made: thread.in_leaf no more. `is_returning`: to thread.target, where its
 * landing did not know the child, or it is not expected. */
void leaves_make_frame(struct native_thread *thread, bool is_returning);

/* Returns of leaves that run now leave the cache: code is gone that they would go on in. */
void leaves_forget(struct native_thread *thread);

/* Emitted once, by fast_init. */
void leaves_init(void);

#endif

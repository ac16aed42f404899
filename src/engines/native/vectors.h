/*
 * vectors.h: the vector registers that are the cache's.
 *
 *   count   {instructions executed, calls made} since they were last settled into the context
 *   top     the shadow stack's top
 *   leaf    {instructions executed, calls made} by the leaf that runs (leaves.h); else {0, 1}; at
 *           line detail it is free for whoever needs one
 *   and the program's rax, rcx, and rdx or rsi while a sequence borrows those
 *   and, where there is AVX-512, two constants: what a push adds to top, and what a call sets count
 *   to, or one to be added to a counter at line detail
 *
 * Why registers: kept in memory, each is a chain of stores and loads that every block, call and
 * return waits for; an add to a vector register takes one cycle, needs no other register and
 * leaves the flags alone. What a sequence puts away at a call and takes back a few instructions later
 * is a seventh of the time of perl and python3 if it goes through memory. Why vector registers: the
 * program rarely has a use for all of them. Where there is AVX-512 they are xmm24 to xmm31, which only
 * its own instructions reach, and of those of libc few the lowest of them; else xmm10 to xmm15.
 * Always by VEX or EVEX instructions: others stall while upper halves are in use.
 *
 * The program's values wait in thread.vectors. Around its instructions that name one of them,
 * or all of them (xsave, vzeroall), the registers change places; and so they do whenever a thread
 * leaves the cache: outside of it the registers are the program's.
 */
#ifndef TRUEFLAME_NATIVE_VECTORS_H
#define TRUEFLAME_NATIVE_VECTORS_H

#include "engines/x86_64/decode.h"
#include "engines/native/emit.h"
#include <asm/sigcontext.h>

/* Which registers they are; false if the processor has none to spare. `narrow`: do without
 * AVX-512. */
bool vectors_init(bool narrow);

/* Fills the constants that the code below refers to; `at` has CONSTANTS_BYTES and is executed at
 * cache address `address`. */
#define CONSTANTS_BYTES 8192u
void vectors_write_constants(uint64_t *at, uint64_t address);

/* The program's value of a register waits while a sequence borrows it, and is put back: in a vector
 * register, if there is one for it and those are the cache's, else in thread.spill. rdx and rsi have
 * the same one: where both are borrowed, one goes to its slot (emit_to_slot). */
void emit_spill(struct emitter *e, unsigned reg);
void emit_unspill(struct emitter *e, unsigned reg);

/* count += {instructions, 0}; of the second, there may be fewer than none */
void vectors_emit_count(struct emitter *e, unsigned instructions);
void vectors_emit_add(struct emitter *e, int instructions);

/* What was counted is added to the context in register `context`; what follows is counted from
 * nothing or, if it `begins` with a call, from one call. At line detail nothing is, except that
 * Python's lines have their instructions (python_counts.h): those are added to .calls. */
void vectors_emit_settle(struct emitter *e, unsigned context, bool begins);
void vectors_emit_settle_line(struct emitter *e, unsigned context);

/* The same, and the count begins with so many instructions, which are about to run. */
void vectors_emit_settle_from(struct emitter *e, unsigned context, unsigned instructions);

/* The block that is being made counts in `leaf`, or in `count`. */
void vectors_count_leaf(bool leaf);

/* What `leaf` has is added to the context in register `context`; it is one call again. */
void vectors_emit_settle_leaf(struct emitter *e, unsigned context);

/* Line detail: [base + offset] += 1, the offset a multiple of 8; flags stay. */
void vectors_emit_increment(struct emitter *e, unsigned base, int offset);

/* Line detail: two words at a time, by way of a register that is free there. pair = [base + offset];
 * [base + offset] = pair; gs:[field] = pair; pair = {[base + offset], the same}; pair += [base]. */
void vectors_emit_load_pair(struct emitter *e, unsigned base, int offset);
void vectors_emit_store_pair(struct emitter *e, unsigned base, int offset);
void vectors_emit_tell_pair(struct emitter *e, uint32_t field);
void vectors_emit_load_twice(struct emitter *e, unsigned base, int offset);
void vectors_emit_add_pair(struct emitter *e, unsigned base);

void vectors_emit_load_top(struct emitter *e, unsigned reg);
void vectors_emit_push(struct emitter *e);
void vectors_emit_pop(struct emitter *e);

/* Does the instruction read or write one of the registers? May be true without need. */
bool vectors_touched(const struct instruction *instruction, const uint8_t *bytes);

/* Is it one that saves or restores what of the registers' state eax asks for? That eax asks for
 * no more than PROCESSOR_STATE. */
bool vectors_saves_state(const struct instruction *instruction);
void vectors_emit_limit_state(struct emitter *e);

/* Whose the registers are. GIVEN_LOWER: what the program has above their lowest 128 bits is not in
 * them but still in thread.vectors, and that is zero in them. Without AVX-512: processors take several
 * times as long for each SSE instruction once more of some register was loaded, even if it was zero. */
enum vectors_given { GIVEN_NOT, GIVEN_LOWER, GIVEN_WHOLE };
bool vectors_have_halves(void);

/* How an instruction that touches them is to have them. */
enum vectors_given vectors_wanted(const struct instruction *instruction);

/* They become the program's; the cache's again. `loads`: up to and including which address each of
 * them is still the program's. */
void vectors_emit_give(struct emitter *e, enum vectors_given given);
void vectors_emit_take(struct emitter *e, enum vectors_given given,
                       uint64_t loads[VECTORS_BORROWED]);

/* Of what the program had when the thread left the cache: is there more than the lowest 128 bits? */
bool vectors_upper_in_use(const struct native_thread *thread);

/* Does the instruction leave nothing there: vzeroupper, vzeroall? */
bool vectors_zeroed_by(const struct instruction *instruction);

/* What the registers hold is in the thread too; is in the registers again. */
void vectors_emit_store_own(struct emitter *e);
void vectors_emit_load_own(struct emitter *e);

/* A signal found the registers in the cache's use: the frame gets the program's values, the thread
 * gets what it counted, and thread.spill what waits in them. */
void vectors_give_in_frame(struct native_thread *thread, struct sigcontext *context);

/* A signal found them GIVEN_LOWER: the frame gets the rest. */
void vectors_add_upper_in_frame(const struct native_thread *thread, struct sigcontext *context);

/* A signal found the thread on its way into the cache: the rest of what vectors_emit_take does. */
void vectors_take_in_frame(struct native_thread *thread, struct sigcontext *context,
                           const uint64_t loads[VECTORS_BORROWED]);

#endif

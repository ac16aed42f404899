/*
 * foreseen.h: where a call will lead, though its instruction does not say: a call to a PLT stub to
 * what the stub's slot has, an indirect call to what it has always called. Such calls are made
 * direct, and see each time that they still are right. If not, their block is made anew.
 */
#ifndef TRUEFLAME_NATIVE_FORESEEN_H
#define TRUEFLAME_NATIVE_FORESEEN_H

#include <stdbool.h>
#include <stdint.h>

void foreseen_init(void);

/* How many instructions a direct call or jump to `target` runs in a PLT stub that is folded into
 * it; 0 if it is not a stub of the plain kind. *slot is where the callee's address stands. */
unsigned plt_stub(uint64_t target, uint64_t *slot);

/* May a call that has led to `target` be made direct? */
bool may_foresee(uint64_t target);

/* Where a PLT stub's slot leads, if that may be foreseen; else 0. */
uint64_t foreseen_target(uint64_t slot);

/* It leads to where the dynamic linker will bind it. */
bool slot_is_unbound(uint64_t slot);

/* Where the indirect call `site` leads; 0: that is not foreseen. */
uint64_t foreseen_call(uint32_t site);

/* An indirect call went to `target`, and its context was not known. True: what is foreseen of it has
 * changed, and its block is to be made anew. */
bool note_call_target(uint32_t site, uint64_t target);

#endif

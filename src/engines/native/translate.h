/*
 * translate.h: the program's instructions into the code cache.
 */
#ifndef TRUEFLAME_NATIVE_TRANSLATE_H
#define TRUEFLAME_NATIVE_TRANSLATE_H

#include "engines/native/cache.h"

/* The block at `pc`, translated now if it was not. The cache's lock is held. Where there is
 * nothing to execute the block holds only an exit that says so. */
struct block *translate_block(uint64_t pc);

/* The same, on the way there; and of a leaf (leaves.h). */
struct block *translate_coming(uint64_t pc, struct coming coming);
struct block *translate_leaf(uint64_t pc, struct coming coming);

/* A block of its own for the next `instructions`, or as many as come before a branch; it ends by
 * EXIT_BUDGET. */
struct block *translate_part(uint64_t pc, unsigned instructions);

#endif

/*
 * places.h: where in its block the program is, when it faults there.
 *
 * VEX has each block store the program counter before each instruction that may fault, which takes
 * about a tenth of a program's time. Nobody looks at it unless a fault comes. So blocks that can do
 * without, nearly all, have those stores taken out when VEX is done with ordering what they do: the
 * program counter in Valgrind's registers then says where the block begins (whoever jumped there
 * has stored that), and the rest is found out if a fault comes.
 *
 * For that the block is translated once more, exactly as it was, while each instruction that VEX
 * makes is noted with the store that would have come before it; the one at the processor's own
 * program counter tells which instruction of the program it works for.
 */
#ifndef TRUEFLAME_VALGRIND_PLACES_H
#define TRUEFLAME_VALGRIND_PLACES_H

#include "engine.h"

/* Decides whether the block that is being translated says where it is; `block` is as VEX made it. */
void places_begin(struct block_info *info, const IRSB *block, Bool anonymous);

/* May the statement fault though it is no memory access? */
Bool places_divides(const IRStmt *statement);

/* Is this the translation that only finds a place? Then it is to be made as the last one was. */
Bool places_searching(void);

void places_register(void);

#endif

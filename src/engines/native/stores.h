/*
 * stores.h: which instructions write memory. Rather too many are said to.
 */
#ifndef TRUEFLAME_NATIVE_STORES_H
#define TRUEFLAME_NATIVE_STORES_H

#include "engines/x86_64/decode.h"

/* How many bytes of its memory operand it writes, at most; 0: none. */
unsigned bytes_stored(const struct instruction *instruction);

/* May it change instructions? What is written by the stack pointer is not taken for that. */
bool may_store_to_code(const struct instruction *instruction);

#endif

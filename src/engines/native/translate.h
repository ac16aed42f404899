/*
 * translate.h: the program's instructions into the code cache.
 */
#ifndef TRUEFLAME_NATIVE_TRANSLATE_H
#define TRUEFLAME_NATIVE_TRANSLATE_H

#include "engines/native/cache.h"

/* The block at `pc`, translated now if it was not. The cache's lock is held. Where there is
 * nothing to execute the block holds only an exit that says so. */
struct block *translate_block(uint64_t pc);

#endif

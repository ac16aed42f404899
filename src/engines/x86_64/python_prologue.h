/*
 * python_prologue.h: where CPython's evaluator has the word with the current frame in its own C frame
 * (3.11 and 3.12; core/python.h): how far above its stack pointer.
 *
 * How far it is below the caller's stack pointer is seen when it runs (module->word_depth); how far
 * the evaluator's own is below that, its first instructions say. Compilers push registers and then
 * make room, once; an evaluator that begins in another way is not understood, and any store to
 * the stack may then be one to the word. Both engines that run CPython ask.
 */
#ifndef TRUEFLAME_X86_64_PYTHON_PROLOGUE_H
#define TRUEFLAME_X86_64_PYTHON_PROLOGUE_H

#include "core/python.h"

/* Is that known? Then it has no branch before it has made its frame, which is stack_bytes large. The
 * evaluator's memory is in place. */
bool python_finds_frame(struct python_module *python);

/* Then: does a store of so many bytes, `displacement` from the stack pointer on, reach the word? Also
 * while arguments are being pushed. word_depth is known. */
bool python_stores_word(const struct python_module *python, int64_t displacement,
                        unsigned size_bytes);

/* Is the frame that the evaluator is called with in the word before anything else is, and seen when it
 * is stored? Then it may be told with the call (core/python.h, python_enter). From 3.12 on there is
 * another frame in between; 3.9 and 3.10 may give up before. */
bool python_brings_frame(struct python_module *python);

#endif

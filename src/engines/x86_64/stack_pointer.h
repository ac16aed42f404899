/*
 * stack_pointer.h: what instructions do to the stack pointer.
 *
 * An indirect jump inside a function may leave frames behind, as __builtin_longjmp's does; but then
 * the stack pointer has been set, to something that was kept elsewhere, by this block or by another
 * one of the function. Both engines that run x86-64 programs ask each instruction that they see.
 */
#ifndef TRUEFLAME_X86_64_STACK_POINTER_H
#define TRUEFLAME_X86_64_STACK_POINTER_H

#include "engines/x86_64/decode.h"

/* May it set the stack pointer to something else than a bit more or less? Rather too often. */
bool stack_pointer_may_move(const struct instruction *instruction);

/* Does it set the stack pointer, and not from what the frame has? */
bool stack_pointer_is_set(const struct instruction *instruction);

#endif

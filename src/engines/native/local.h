/*
 * local.h: indirect jumps that stay within a function and its frame, as those of switches do.
 *
 * An indirect jump may leave frames behind: longjmp is one. But then the stack pointer has been set,
 * to something that was kept elsewhere. A jump may be a local one if no instruction before it in its
 * block touches the stack pointer but to push, pop, add or subtract, and none that was ever seen of
 * its function takes it from anywhere but the frame pointer. If it then leads to a block of the same
 * function, it is in the same frame, and the context stays.
 */
#ifndef TRUEFLAME_NATIVE_LOCAL_H
#define TRUEFLAME_NATIVE_LOCAL_H

#include "engines/native/translation.h"

/* May the indirect jump at `index` be one? Its function has a number then. */
bool local_may_lead(const struct translation *t, unsigned index);

/* Have such jumps of the function been translated? */
bool local_is_known(const struct code_function *function);

/* A block of t->function has been decoded: if it sets the stack pointer freely, the function's jumps
 * are not local any more. */
void local_look_at(const struct translation *t);

#endif

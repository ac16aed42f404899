/*
 * callees.h: which of the children beside a context is a callee's.
 *
 * A context has few places for children in its first cache line. The functions that a function calls
 * are numbered as its calls are translated, and take the places in turn: so they are in each other's
 * way only if there are more of them than places. By their addresses they were in more than a
 * quarter of a compiler's calls.
 */
#ifndef TRUEFLAME_NATIVE_CALLEES_H
#define TRUEFLAME_NATIVE_CALLEES_H

#include "core/code.h"

/* The number of what `function` calls at `target`; nearly always another for each. The cache's lock is
 * held. */
unsigned callee_number(struct code_function *function, uint64_t target);

#endif

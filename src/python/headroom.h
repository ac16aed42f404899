/*
 * headroom.h: whether the C stack still has room, asked of the stack itself.
 *
 * From 3.11 on a Python call takes no C stack, except under a frame evaluation hook. What CPython
 * does to guard the stack was not made for that:
 *
 * 3.12 and 3.13 count nested C calls, with a limit (1,500 in 3.12.1) that takes a C call for
 * something rare. Under a hook every Python call counts twice, and a program that recurses 800
 * deep, within its limit of 1,000, would fail only because it is being watched. Where the counter
 * runs low the hook looks at the real stack and, with enough left, lends the counter some calls;
 * without, CPython raises its RecursionError as before.
 *
 * 3.11 counts nothing: a program that raised its recursion limit would overflow the stack. Where
 * the limit is high the hook looks at the stack on every call and raises the RecursionError itself.
 *
 * Before 3.11 every Python call takes C stack anyway; from 3.14 on CPython looks at the stack.
 */
#ifndef TRUEFLAME_PYTHON_HEADROOM_H
#define TRUEFLAME_PYTHON_HEADROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Below this many C calls left the hook steps in: more than what CPython keeps for deallocation. */
#define HEADROOM_LOW_CALLS  300
#define HEADROOM_LENT_CALLS 400

/* What must be left for the lent calls (about 500 bytes each), and for C code that counts on the
 * limit to keep it within what was there before. */
#define HEADROOM_LEND_BYTES (1024 * 1024)

/* A recursion limit up to this one cannot overflow an ordinary stack. */
#define HEADROOM_HARMLESS_LIMIT 5000
#define HEADROOM_GUARD_BYTES    (256 * 1024)

/* On a stack that is not the thread's own (coroutines) nothing is known, and the answer is no. */
bool headroom_has_stack(size_t reserve_bytes);

/* The same, but where nothing is known the answer is yes. */
bool headroom_may_have_stack(size_t reserve_bytes);

#endif

/*
 * headroom.h: whether the C stack still has room, asked of the stack itself.
 *
 * CPython 3.12 and 3.13 guard the C stack by counting nested calls, with a limit (1,500 in 3.12.1)
 * that takes a C call for something rare. Under a frame evaluation hook every Python call counts
 * twice, and a program that recurses 800 deep, within its limit of 1,000, would fail only because
 * it is being watched. Where the counter runs low the hook looks at the real stack and, with enough
 * left, lends the counter some calls; without, CPython raises its RecursionError as before.
 */
#ifndef TRUEFLAME_PYTHON_HEADROOM_H
#define TRUEFLAME_PYTHON_HEADROOM_H

#include <stdbool.h>

/* Below this many C calls left the hook steps in: more than what CPython keeps for deallocation. */
#define HEADROOM_LOW_CALLS  300
#define HEADROOM_LENT_CALLS 400

bool headroom_has_stack(void);

#endif

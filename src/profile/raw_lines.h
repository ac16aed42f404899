/*
 * raw_lines.h: Python lines leave the tree.
 *
 * While a program runs, each line of a Python function that executes is a context of its own below
 * the function's (core/python.h). In the profile a context is a call path, and lines are a table:
 *
 *     raw                               profile
 *     f                                 f            lines  (f, 10, 70)  (f, 11, 30)
 *       line 10: 70                       sort              (sort, 10, 500)
 *         sort 500                        len               (len, 11, 9)
 *       line 11: 30
 *         len 9
 *
 * What runs below a line hangs below the function afterwards, as one context where it hung below
 * several lines, and has rows of its own: the sum of a context's rows is its self_instructions.
 */
#ifndef TRUEFLAME_PROFILE_RAW_LINES_H
#define TRUEFLAME_PROFILE_RAW_LINES_H

#include "profile/profile.h"

/* What stands for a line where a context has its function. */
#define RAW_LINE_MARK 0x80000000u
/* One more would be NONE. */
#define RAW_LINE_MOST 0x7ffffffeu

/* Contexts whose function is RAW_LINE_MARK | line are taken out; roots are moved along. Returns by old
 * context the one that it is now, to be freed; NULL: there are no lines, and nothing changed. */
uint32_t *raw_take_lines_out(struct profile *profile);

#endif

/*
 * diff.h: two views laid over one another: the union tree, each node with its cost in both.
 *
 * Functions are matched by name and by the file name of their object, so that a rebuild at other
 * addresses or in another folder compares. Versions of shared libraries do not count; and where
 * each profile has just one file that the other has not, they are taken for one that was renamed
 * (app-1.0 and app-1.1). Whether a frame is inlined is no part of its identity:
 * a function that was inlined in one build and called in the other is one node, labelled as such,
 * and not a path that vanished beside a path that is new.
 *
 * Nothing is normalised or rounded: a node that costs the same has a difference of zero.
 */
#ifndef TRUEFLAME_DIFF_H
#define TRUEFLAME_DIFF_H

#include "profile/view.h"

enum diff_presence {
    DIFF_IN_BASE = 1,
    DIFF_IN_NEW = 2,
    DIFF_INLINED_IN_BASE = 4,
    DIFF_CALLED_IN_BASE = 8,
    DIFF_INLINED_IN_NEW = 16,
    DIFF_CALLED_IN_NEW = 32,
};

/* Columns by node of `tree`, whose self and calls are those of the new profile. */
struct diff {
    struct view *tree;
    uint64_t *base_self, *base_calls;
    uint64_t *base_total, *new_total; /* with everything below */
    uint8_t *presence;                /* enum diff_presence */
    uint64_t base_sum, new_sum;
};

/* What a function costs in both. */
struct diff_function {
    struct function_cost base, new;
};

/* The views' profiles must outlive the diff; the views need not. */
struct diff *diff_make(const struct view *base, const struct view *new);
void diff_free(struct diff *diff);

/* Scales the base's counts so that their sum is the new one's; the sum is exact, each count is
 * rounded. Only when a user asks for it. */
void diff_normalise(struct diff *diff);

/* One row for each frame of the tree; to be freed. */
struct diff_function *diff_functions(const struct diff *diff);

/* "now inlined", "no longer inlined", or NULL when that has not changed. */
const char *diff_inlining(const struct diff *diff, uint32_t node);

/* "new", "vanished", or "changed". */
const char *diff_status(const struct diff *diff, uint32_t node);

#endif

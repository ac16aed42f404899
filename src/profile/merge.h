/*
 * merge.h: many profiles into one, one at a time, so that only one of them is in memory beside the
 * result. Rows that both have (modules, functions, locations, sites, blocks, parts, repairs) are
 * found again through maps that live as long as the merger; processes, threads and their trees are
 * added, since a run's process is never the process of another run.
 */
#ifndef TRUEFLAME_MERGE_H
#define TRUEFLAME_MERGE_H

#include "common/map.h"
#include "profile/profile.h"

struct profile_merger {
    struct profile *into;
    struct map modules, functions, locations, sites, blocks; /* hash of the row -> row */
};

/* `into` may have rows already; it stays the caller's. */
void merger_start(struct profile_merger *merger, struct profile *into);

/* ERROR when the sum of the counts would pass 64 bits, or a table 2^32 rows; `into` is as it was
 * then. At different details the result has the lesser one, function. */
int merger_add(struct profile_merger *merger, const struct profile *from, const char *name,
               struct error *error);
void merger_finish(struct profile_merger *merger);

#endif

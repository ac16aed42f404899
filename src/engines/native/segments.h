/*
 * segments.h: the segments of a block, and where each is counted.
 *
 * Between two branches every instruction runs or none does: a segment. It is counted by one add to
 * a vector register (vectors.h), or by one to a counter at line detail (lines.h).
 */
#ifndef TRUEFLAME_NATIVE_SEGMENTS_H
#define TRUEFLAME_NATIVE_SEGMENTS_H

#include "engines/native/translation.h"

/* Does what follows instruction `index` count on its own? */
bool ends_segment(const struct translation *t, unsigned index);

/* One past the last instruction of the segment that begins at `first`. */
unsigned segment_end(const struct translation *t, unsigned first);

void emit_segment(struct translation *t, unsigned first, unsigned end);

/* Of the segment behind the call `index`: how many instructions its landing counts, which sets the
 * count anyway; 0: the segment counts itself. */
unsigned counts_at_landing(const struct translation *t, unsigned index);

#endif

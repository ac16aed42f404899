/*
 * python_watch.h: inline code in blocks of CPython's evaluator, see core/python.h.
 */
#ifndef TRUEFLAME_VALGRIND_PYTHON_WATCH_H
#define TRUEFLAME_VALGRIND_PYTHON_WATCH_H

#include "transfers.h"

/* NULL unless the place is in the evaluator of a CPython whose frames are watched, or is where the
 * evaluator is entered. */
struct python_module *python_watched(const struct code_place *place);

/* May the statement change which frame is current, or the line that it is in? */
Bool python_may_set_frame(struct python_module *python, const struct block_info *info,
                          const IRSB *block, const IRStmt *statement);
Bool python_may_set_line(const struct python_module *python, const IRSB *block,
                         const IRStmt *statement);

/* Where a code object is freed; for every block, in the evaluator or not. */
void python_emit_freer(const struct translation *translation);

/* At the start of a block, before anything is counted. */
void python_emit_start(struct translation *translation, struct python_module *python);
/* Is another frame current, or, with the instruction pointer of the `store`, another line of it? The
 * context may change. `left`: instructions that are counted already, and for the line that begins. */
void python_emit_frame_check(struct translation *translation, const struct python_module *python);
void python_emit_line_check(struct translation *translation, const IRStmt *store, UInt left);

#endif

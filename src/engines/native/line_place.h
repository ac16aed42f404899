/*
 * line_place.h: where in its segment a run is counted, and with which register.
 *
 * To count takes two instructions, if the arithmetic flags are free and a register is. An
 * instruction that overwrites a register without reading it has one to give until then; if it
 * cannot fault, no state of the program lies between, and else the register's value is kept in its
 * place, where marks find it. Any other register is spilled and put back; flags that are live
 * make it two more instructions.
 */
#ifndef TRUEFLAME_NATIVE_LINE_PLACE_H
#define TRUEFLAME_NATIVE_LINE_PLACE_H

#include "engines/native/translation.h"

struct line_place {
    unsigned index;          /* before this instruction */
    bool folds;              /* or in the sequence of the last one */
    struct line_count count; /* has room or is an evaluator's, if there is such a place */
};

/* Runs are counted behind looks at the Python line, which may lead elsewhere. */
unsigned line_place_first(const struct translation *t, unsigned first, unsigned end);

/* The best in the segment from `first` to `end`, for run `run` that ends in PLT stub `stub`. */
struct line_place line_place(struct translation *t, unsigned first, unsigned end, uint32_t run,
                             uint32_t stub);

#endif

/*
 * line_counters.h: at line detail, the counters beside a context: how often it ran each run of its
 * function, by the run's place there, from 1 on.
 *
 * Places are given out when a run is first translated, the same in all contexts of the function. An
 * array has as many as its function is likely to need when the context is made, which is less the more
 * contexts there are, and grows when a run comes that has none.
 *
 * Most contexts are called once or twice, when a program starts. So while there is one thread, arrays are
 * made in a small stretch of memory, which stays near. When that is full, what those have counted that
 * were called no more often goes to the core, and they have no array; the others get one elsewhere, for
 * good. So does who comes back: whatever changes the context asks first whether it has one
 * (line_counters_emit_check), and leaves the cache if not.
 */
#ifndef TRUEFLAME_NATIVE_LINE_COUNTERS_H
#define TRUEFLAME_NATIVE_LINE_COUNTERS_H

#include "engines/native/emit.h"
#include "engines/native/thread.h"

struct line_array {
    uint32_t capacity;
    uint32_t owner;  /* number of the context */
    uint64_t *taken; /* how much of each the core has; NULL: it was taken away from them */
    uint64_t counts[];
};

/* A context has the address of its counters, plus so much: the first ones are reached with eight bits
 * of offset. They begin with a word that says how many there are. */
#define LINE_ORIGIN 144

/* Counters of a context that asks. Beyond the first number only in functions with few contexts:
 * CPython's evaluator has thousands of runs and tens of thousands of contexts. */
#define LINE_PLACES         256
#define LINE_PLACES_MAX     8192
#define LINE_LARGE_CONTEXTS 512

/* Counters of who was called no more often are given back. */
#define LINE_SELDOM 2

/* What a counter counts: how often a run ran, and the PLT stub behind it, 0: none. */
struct line_counter {
    uint32_t run, stub;
};

/* The place of a counter in the contexts of its function; 0: it has none. */
uint32_t line_counters_place(struct line_counter counter, struct code_function *function);

/* Is it in every context of the function that is made from now on, and in those that there are? */
bool line_counters_have_room(struct code_function *function, uint32_t place);

/* The PLT stub that is counted with the run, 0: none. */
uint32_t line_counters_stub(uint32_t run);

/* A new context gets its room. */
void line_counters_context_made(struct context *context);

/* Instead of an address, a context without an array has the number of counters that it had. */
static inline bool line_counters_are_away(const struct context *context)
{
    return context->counters <= UINT32_MAX;
}

/* The context, which has none, is about to run. */
void line_counters_come_back(struct context *context);

/* On to `miss` if the context in the register, one of the first four, has none. Loses the flags. */
void line_counters_emit_check(struct emitter *e, unsigned context, uint64_t miss);

/* The context's thread is at a run whose counter it has not got: now it has. False: further runs of the
 * function are to be counted elsewhere, as it has many contexts. */
bool line_counters_grow(struct context *context, uint32_t place);

/* All that contexts have counted is in the core. `alone`: no other thread of the process runs. */
void line_counters_flush(bool alone);
/* Instructions that contexts have counted since; their threads may go on meanwhile. */
uint64_t line_counters_instructions(void);

#endif

/*
 * symbolize_work.h: one module being symbolized; shared by the files of symbolize*.c.
 */
#ifndef TRUEFLAME_SYMBOLIZE_WORK_H
#define TRUEFLAME_SYMBOLIZE_WORK_H

#include "symbols/module_code.h"
#include "symbols/pair_map.h"

struct work {
    struct profile *profile;
    uint32_t module;
    struct module_code code;
    uint64_t *addresses; /* sorted, unique */
    size_t address_count, address_capacity;
    uint32_t *string_of_file;    /* by debug file: string id, or NONE */
    uint32_t *function_of_debug; /* by debug function: its entry when it is inlined, or NONE */
    uint32_t *starts;            /* functions with code that contexts ran, sorted by start */
    size_t start_count, start_capacity;
    struct pair_map function_at;    /* (start, 0) to function with code */
    struct pair_map function_named; /* (symbol, file << 32 | line), 0 if external, to function */
    struct pair_map location_of;    /* (function << 32 | node, file << 32 | line) to location */
    uint32_t empty_location;        /* NONE until it is needed */
};

/* Whether symbols can say anything about the function. */
static inline bool function_has_code(const struct function *function)
{
    return function->kind == FUNCTION_NATIVE && !function->only_inlined;
}

/* What the debug info says about one of work->addresses; NULL when there is none. */
const struct debug_answer *symbolize_answer_at(const struct work *work, uint64_t address);

/* String id of a debug file's path, 0 for DEBUG_NONE. */
uint32_t symbolize_file_string(struct work *work, uint32_t file);

/* Names every function of the module that has code. */
void symbolize_functions(struct work *work);

/* The entry of the function whose code is at `address`: the nearest one before it under the same
 * symbol (a label that was called divides its symbol), else the symbol's, added when no context
 * ran it by itself; NONE when neither symbols nor debug info know of one. */
uint32_t symbolize_function_with_code(struct work *work, uint64_t address,
                                      const struct debug_answer *answer);

/* The entry of a function that was inlined; NONE when the debug info does not name it. */
uint32_t symbolize_inlined_function(struct work *work, uint32_t debug_function);

/* The string, with nothing in it that cannot be shown. */
uint32_t symbolize_printable(struct profile *profile, uint32_t name);

/* `0x1234`, as a string id. */
uint32_t symbolize_name_by_address(struct profile *profile, uint64_t address);

/* Locations of the module's call sites, pieces of its blocks. */
void symbolize_locations(struct work *work);

#endif

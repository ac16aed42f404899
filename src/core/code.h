/*
 * code.h: the code map. Which function does an address belong to?
 *
 * Functions are address ranges, known while the program runs because the rules of the stack need
 * them (a jump inside a function changes nothing, a jump to another one is a tail call). Names are
 * only looked at to find out that `f.cold` is a part of `f`; what a function is called is decided
 * after the run, by src/symbols.
 *
 * Where ranges come from, best first:
 *   1. .symtab of the file, or of its separate debug file found by build id; .dynsym
 *   2. .eh_frame_hdr: functions that no symbol names (stripped programs), and cold parts of them
 *   3. the addresses that were called: a function starts there and reaches to the next one
 *
 *   module   |--------------------------------------------------------|
 *   ranges      |main--|main|fib----|    |helper--|      |main (cold)|
 *                ^ several ranges may belong to one function
 *
 * A module leaves the map when it is unmapped, but stays in the profile.
 * Assumes: a hundred modules, 100,000 functions, a lookup for each block that is translated and
 * each target of an indirect call that is seen for the first time; none on hot paths.
 */
#ifndef TRUEFLAME_CORE_CODE_H
#define TRUEFLAME_CORE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_module_kind { CODE_FILE, CODE_ANONYMOUS, CODE_MARKER, CODE_PYTHON, CODE_JIT };

enum code_function_flags {
    CODE_FUNCTION_ANONYMOUS = 1, /* code in memory that has no file */
    CODE_FUNCTION_MARKER = 2,    /* no code: a root, a signal, an ecall; calls hang below it */
    CODE_FUNCTION_PYTHON = 4,    /* a Python frame: lies on the native frame that evaluates it */
    CODE_FUNCTION_GUESSED = 8,   /* no symbol: its extent is only a guess, a call may cut it */
    CODE_FUNCTION_JIT = 16,      /* anonymous code that the program gave a name, see core/jit.h */
    CODE_FUNCTION_GONE = 32,     /* other code is at its address by now */
    CODE_FUNCTION_LINE = 64, /* with PYTHON: a line of the function whose context is the parent */
    CODE_FUNCTION_PERHAPS_PART = 128, /* of the one at `after`: to be decided */
};

#define CODE_NO_ID UINT32_MAX

/* A function is known by its address; two with the same address in one module are one. */
struct code_function {
    struct code_module *module;
    uint64_t start; /* address in the module, see code_module.bias */
    uint64_t end;
    uint64_t after;   /* with PERHAPS_PART: where the function begins that it may be a part of */
    uint32_t flags;   /* enum code_function_flags */
    uint32_t raw_id;  /* its row in the raw file, CODE_NO_ID until it is written */
    const char *name; /* markers, Python and JIT only; NULL: src/symbols will know */
    const char *file; /* Python only */
    uint32_t line;    /* Python only */
    void *engine;     /* the engine's own, and four more */
    uint32_t engine_note, engine_count, engine_number, engine_callees;
    bool asked;                  /* jit_late.c's own */
    uint64_t time;               /* anonymous only: when its code was first seen */
    struct code_function *named; /* anonymous only: what it was called, if that came late */
    const struct jit_entry *jit; /* JIT only: what the program says of it */
};

struct code_range {
    uint64_t start, end;            /* addresses in the module */
    struct code_function *function; /* NULL: a PLT */
    struct code_function *own;      /* taken for a part of another: what it is if it is called */
};

struct code_module {
    const char *path;
    char build_id[65];            /* hex, "" where there is none */
    uint8_t kind;                 /* enum code_module_kind */
    bool live;                    /* mapped now */
    struct python_module *python; /* NULL unless it is CPython */
    uint64_t swapper;             /* address in the module; 0: no function swaps stacks */
    bool has_lines;               /* has debug information, or its debug file may have */
    uint32_t raw_id;
    uint64_t start, end;       /* where it is, or was, mapped: absolute */
    uint64_t bias;             /* absolute address minus address in the module */
    struct code_range *ranges; /* sorted, disjoint */
    size_t range_count, range_capacity;
    struct code_module *next; /* all modules ever, newest first */
};

struct code_map {
    struct code_module **live; /* sorted by start */
    size_t live_count, live_capacity;
    struct code_module *modules;
    struct code_module *last; /* the answer to the last lookup, likely the next one's too */
    struct code_module *anonymous;
    struct code_module *markers;
    struct code_function **called_anonymous; /* hash by address: functions of anonymous code */
    size_t called_count, called_capacity;
    struct jit *jit; /* what the program calls its anonymous code; NULL: not looked at */
};

/* What an address is. `function` is NULL for a PLT and for anonymous code without a name, where
 * only calls tell functions apart. */
struct code_place {
    struct code_module *module;
    struct code_function *function;
    bool plt;
    uint64_t start, end; /* absolute: the stretch around the address that is the same place; 0 for
                          * anonymous code */
};

void code_map_init(struct code_map *map);

/* Executable memory [start, end) holds `path` from `file_offset` on. Reads the file's function
 * ranges; a file that cannot be read or is not ELF is a module all the same, whose functions are
 * known by the calls. The same file mapped again at the same place is the same module. */
struct code_module *code_map_add_file(struct code_map *map, const char *path, uint64_t start,
                                      uint64_t end, uint64_t file_offset);

/* As above, with the ELF image at hand and the bias known (a guest that the engine loads itself). */
struct code_module *code_map_add_image(struct code_map *map, const char *path, const uint8_t *image,
                                       size_t size_bytes, uint64_t start, uint64_t end,
                                       uint64_t bias);

/* [start, end) is unmapped or mapped anew: modules that lie in it leave the map, others lose that
 * end of theirs which does, or all from `start` on. */
void code_map_remove(struct code_map *map, uint64_t start, uint64_t end);

/* The place of an absolute address where a block begins. */
struct code_place code_map_find(struct code_map *map, uint64_t address);

/* The same for an address that is only looked at, ahead of the program: where nothing is known, no
 * function begins for that; its place has none. */
struct code_place code_map_peek(struct code_map *map, uint64_t address);

/* The function that a call to `address` enters: as code_map_find, but where no symbol covers the
 * address a function begins here from now on. NULL for a PLT. */
struct code_function *code_map_called(struct code_map *map, uint64_t address);

/* From `address` on, a function that was only guessed at is a part of `whole`. Nothing of it was
 * translated. */
void code_map_is_part(struct code_module *module, uint64_t address, struct code_function *whole);

/* The place of a block that is about to be translated: as code_map_find, after a look at what the
 * program says of its code. */
struct code_place code_map_translate(struct code_map *map, uint64_t address);

/* A block of the place was read: these are its bytes. Where code has no name, other bytes than last
 * time are another function. */
void code_map_translated(struct code_map *map, const struct code_place *place, uint64_t address,
                         const uint8_t *bytes, size_t count);

/* Functions of anonymous code in [start, end) are gone: what is called there is another. */
void code_map_forget_called(struct code_map *map, uint64_t start, uint64_t end);

/* Does the function put another stack in the place of the one it is called on? Engines tell when
 * it begins: core_swap. */
static inline bool code_function_swaps(const struct code_function *function)
{
    return function && function->module->swapper && function->start <= function->module->swapper &&
           function->module->swapper < function->end;
}

/* Is `address` the first instruction of a function that is known? */
bool code_map_is_entry(struct code_map *map, uint64_t address);

/* The marker of that name; the same text gives the same function. */
struct code_function *code_map_marker(struct code_map *map, const char *name);

#endif

/*
 * initial_stack.h: what a program finds on its stack when it begins, laid out as the kernel does:
 *
 *     top   8 zero bytes | path | environment strings | argument strings
 *           | platform | 16 random bytes | auxiliary vector | envp | argv | argc   <- sp
 *
 * Where the strings end decides how the stack is aligned, and libc's string functions take another
 * path for another alignment: the engines put it the same way.
 */
#ifndef TRUEFLAME_INITIAL_STACK_H
#define TRUEFLAME_INITIAL_STACK_H

#include <stdint.h>

struct auxiliary {
    uint64_t type, value;
};

struct initial_stack {
    /* Nothing of it may lie in what is written. */
    const char *path;
    char *const *arguments, *const *environment; /* NULL at the end */
    const uint8_t *random;                       /* 16 bytes */
    const struct auxiliary *rows;                /* the last one's type is 0; those for path, */
    unsigned row_count;                          /* platform and random get their values here */

    /* What initial_stack_put makes of it. */
    uint64_t stack_pointer;
    uint64_t auxiliary;      /* where the rows went */
    uint64_t argument_start; /* the strings: arguments up to where the environment begins, */
    uint64_t argument_end;   /* that up to where the path begins */
    uint64_t environment_end;
};

/* Writes it below `top`. */
void initial_stack_put(struct initial_stack *stack, uint64_t top);

/* The rows that a repeatable run has, whatever kernel and processor there are. */
struct program_facts {
    uint64_t headers, header_count, loader, entry;
    uint64_t user, effective_user, group, effective_group, secure;
};
#define INITIAL_STACK_FIXED_ROWS 19
void initial_stack_fixed_rows(const struct program_facts *facts,
                              struct auxiliary rows[INITIAL_STACK_FIXED_ROWS]);

#endif

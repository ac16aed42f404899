/*
 * load.h: puts a program into memory as the kernel's exec would have.
 */
#ifndef TRUEFLAME_NATIVE_LOAD_H
#define TRUEFLAME_NATIVE_LOAD_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct program {
    const char *path; /* as it was executed; scripts: of their interpreter */
    char **arguments; /* NULL at the end */
    char **environment;
    uint64_t entry;         /* where execution begins: the loader's entry if there is one */
    uint64_t stack_pointer; /* with argc on top */
    uint64_t break_start;   /* where the heap begins */
};

/* The engine's own auxiliary vector. */
void load_set_auxiliary(const Elf64_auxv_t *vector);
uint64_t load_auxiliary(uint64_t type);

/* Refuses, before anything has run, what this engine cannot: never returns then. */
void load_program(struct program *program);

/* Would exec of `path` work? 0: yes, in this engine; LOAD_FOREIGN: yes, but not here, and *why; else
 * -errno. */
#define LOAD_FOREIGN 1
long load_check(const char *path, const char **why);

/* A free place for code of this size below 2 GB, 0 if there is none. */
uint64_t load_low_place(uint64_t size_bytes);
/* What was unmapped there can be used again. */
void load_low_freed(uint64_t start, uint64_t end);

#endif

/*
 * maps.h: the program's memory, as its system calls and the kernel's list say it is.
 *
 * One sorted array; a mapping is what one mmap made, cut by later calls. Two mappings the kernel
 * would show as one stay two here, so that stacks that were mapped apart can be told apart.
 * Callers hold no lock: the functions take their own.
 */
#ifndef TRUEFLAME_NATIVE_MAPS_H
#define TRUEFLAME_NATIVE_MAPS_H

#include "engines/native/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mapping_flags {
    MAPPING_FILE = 1,   /* from a file, private */
    MAPPING_SHARED = 2, /* others may write it, or it may be mapped twice */
    MAPPING_VDSO = 4,   /* the kernel's: code and data of the vdso */
};

struct mapping {
    uint64_t start, end;
    uint64_t file_offset;
    uint32_t protection; /* PROT_ bits */
    uint32_t flags;      /* enum mapping_flags */
    uint64_t number;     /* of those that were ever added; maps_add counts */
};

/* Takes over what the kernel has mapped before the program: vdso and stack. */
void maps_init(void);

void maps_add(struct mapping mapping);
void maps_remove(uint64_t start, uint64_t end);
/* Of what the kernel has unmapped, and may have given to another thread since: only those up to this
 * number, maps_newest() before the call. */
void maps_remove_until(uint64_t start, uint64_t end, uint64_t newest);
uint64_t maps_newest(void);
void maps_protect(uint64_t start, uint64_t end, uint32_t protection);

/* The mapping at `address`; false if there is none. */
bool maps_find(uint64_t address, struct mapping *out);

/* The first mapping that ends after `address`; for walking a range. */
bool maps_next(uint64_t address, struct mapping *out);

/* Can code at `pc` change without a system call that says so? */
bool maps_may_change(uint64_t pc);

/* How far from `pc` on memory is executable without a gap; `pc` or less where it is not. */
uint64_t maps_executable_end(uint64_t pc);

extern struct lock maps_lock; /* of the array */

#endif

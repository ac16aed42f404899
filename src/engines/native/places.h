/*
 * places.h: where the program's memory lies with --repeatable: where the reference engine has it,
 * whatever kernel and limits there are. Hashes of addresses, the order of libraries and what is
 * next to what are then the same under both engines, and with them the counts.
 *
 *     0x108000      the program, if it can be anywhere
 *     0x4000000 ..  the dynamic loader, 8 MB for the heap, then whatever is mapped, each in the
 *                   first gap from below that has room
 *     0x58000000 .. 0x7fffffff   nobody's: the engines' own
 *     .. 0x1fff001000            the stack
 */
#ifndef TRUEFLAME_NATIVE_PLACES_H
#define TRUEFLAME_NATIVE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#define PLACES_PROGRAM   0x108000ul
#define PLACES_STACK_TOP 0x1fff001000ul

/* A place for so many bytes; at `hint` if that is free and not 0. 0: there is none. */
uint64_t places_find(uint64_t hint, uint64_t size_bytes);

/* Is nothing in [start, end)? */
bool places_free(uint64_t start, uint64_t end);

/* Keeps room for the heap; where it begins. And where it may end. */
uint64_t places_keep_heap(void);
uint64_t places_heap_end(void);

/* Memory for the stack that grows like the kernel's own. */
void places_make_stack(void);

#endif

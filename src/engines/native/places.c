/* places.c: see places.h. */
#include "engines/native/places.h"
#include "engines/native/arena.h"
#include "engines/native/load.h"
#include "engines/native/maps.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <sys/mman.h>

#define PAGE        4096ul
#define FIRST       0x4000000ul
#define LAST        0x1000000000ul
#define OURS_START  0x58000000ul
#define OURS_END    0x80000000ul
#define HEAP_BYTES  (8ul << 20)
#define STACK_BYTES (128ul << 10) /* to begin with */

static uint64_t heap_start;

/* Where the first thing that is in the way of [start, end) ends; 0 if there is none. */
static uint64_t end_of_obstacle(uint64_t start, uint64_t end)
{
    struct mapping mapping;
    if (start < OURS_END && end > OURS_START)
        return OURS_END;
    if (heap_start && start < heap_start + HEAP_BYTES && end > heap_start)
        return heap_start + HEAP_BYTES;
    return maps_next(start, &mapping) && mapping.start < end ? mapping.end : 0;
}

bool places_free(uint64_t start, uint64_t end)
{
    return start < end && !engine_owns(start, end) && !end_of_obstacle(start, end);
}

uint64_t places_find(uint64_t hint, uint64_t size_bytes)
{
    uint64_t size = (size_bytes + PAGE - 1) & -PAGE;
    if (!size || size > LAST)
        return 0;
    hint &= -PAGE;
    if (hint >= PAGE && places_free(hint, hint + size))
        return hint;
    for (uint64_t at = FIRST; at + size <= LAST;) {
        uint64_t after = end_of_obstacle(at, at + size);
        if (!after)
            return at;
        at = after;
    }
    return 0;
}

uint64_t places_keep_heap(void)
{
    heap_start = places_find(0, HEAP_BYTES);
    return heap_start;
}

uint64_t places_heap_end(void)
{
    return heap_start + HEAP_BYTES;
}

/* The kernel made one when the engine began. Its record says how far it could grow. */
static void keep_kernel_stack(void)
{
    const uint64_t grown = 1 << 20; /* arguments and environment included, hardly more */
    struct mapping stack;
    if (!maps_find(load_auxiliary(AT_EXECFN), &stack))
        return;
    maps_remove(stack.start, stack.end);
    engine_keep_stack(stack.end - stack.start > grown ? stack.end - grown : stack.start, stack.end);
}

void places_make_stack(void)
{
    uint64_t start = PLACES_STACK_TOP - STACK_BYTES;
    long got =
        sys(mmap, start, STACK_BYTES, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_STACK | MAP_FIXED_NOREPLACE, -1, 0);
    if ((uint64_t)got != start)
        refuse_program("no room for the stack", NULL);
    keep_kernel_stack();
    /* It grows, and nothing is put below it. */
    maps_add((struct mapping){
        .start = LAST, .end = PLACES_STACK_TOP, .protection = PROT_READ | PROT_WRITE});
}

/* callees.c: see callees.h. */
#include "engines/native/callees.h"
#include "engines/native/arena.h"

#define FIRST_CALLEES (1u << 14)
#define MIX           0x9e3779b97f4a7c15u

struct callee {
    uint64_t key; /* of function and target; two that share one share a number. 0: free */
    uint32_t number;
};

static struct {
    struct callee *slots;
    uint32_t count, capacity; /* a power of two */
} callees;

static struct callee *find_slot(uint64_t key)
{
    uint32_t at = key >> 32 & (callees.capacity - 1);
    while (callees.slots[at].key && callees.slots[at].key != key)
        at = (at + 1) & (callees.capacity - 1);
    return &callees.slots[at];
}

static void grow(void)
{
    struct callee *old = callees.slots;
    uint32_t old_capacity = callees.capacity;
    callees.capacity = old_capacity ? 2 * old_capacity : FIRST_CALLEES;
    callees.slots = arena_allocate(callees.capacity * sizeof *callees.slots);
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old[i].key)
            *find_slot(old[i].key) = old[i];
    arena_release(old, old_capacity * sizeof *old);
}

unsigned callee_number(struct code_function *function, uint64_t target)
{
    if (2 * callees.count >= callees.capacity)
        grow();
    uint64_t key = ((uintptr_t)function * MIX ^ target) * MIX | 1;
    struct callee *callee = find_slot(key);
    if (!callee->key) {
        *callee = (struct callee){key, function->engine_callees++};
        callees.count++;
    }
    return callee->number;
}

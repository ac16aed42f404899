#include "python/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "python/jitdump_writer.h"
#include "python/template.h"

#define ARENA_BYTES (64 * 1024)
#define SLOT_BYTES  ((JITDUMP_MAPPED_BYTES + 31) / 32 * 32)

_Static_assert(SLOT_BYTES >= TEMPLATE_CODE_SIZE, "a trampoline fits its slot");

static struct {
    char *next, *end; /* the unused part of the newest arena */
    size_t arenas;
    void **returned; /* slots given back; kept here because a slot cannot be written */
    size_t returned_count, returned_capacity;
} arena;

static int arena_add(struct error *error)
{
    char *memory =
        mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return error_set_errno(error, "cannot get memory for trampolines");
    size_t usable = ARENA_BYTES / SLOT_BYTES * SLOT_BYTES;
    for (size_t offset = 0; offset < usable; offset += SLOT_BYTES)
        memcpy(memory + offset, template_code, TEMPLATE_CODE_SIZE);
    if (mprotect(memory, ARENA_BYTES, PROT_READ | PROT_EXEC) != 0) {
        error_set_errno(error, "the system does not let memory be made executable");
        munmap(memory, ARENA_BYTES);
        return ERROR;
    }
    __builtin___clear_cache(memory, memory + ARENA_BYTES);
    arena.next = memory;
    arena.end = memory + usable;
    arena.arenas++;
    return OK;
}

void *arena_take_slot(struct error *error)
{
    if (arena.returned_count)
        return arena.returned[--arena.returned_count];
    if (arena.next == arena.end && arena_add(error) != OK)
        return NULL;
    void *slot = arena.next;
    arena.next += SLOT_BYTES;
    return slot;
}

void arena_return_slot(void *slot)
{
    if (arena.returned_count == arena.returned_capacity) {
        size_t capacity = arena.returned_capacity ? arena.returned_capacity * 2 : 64;
        void **grown = realloc(arena.returned, capacity * sizeof *grown);
        if (!grown)
            return; /* the slot is lost, which costs its bytes and nothing else */
        arena.returned = grown;
        arena.returned_capacity = capacity;
    }
    arena.returned[arena.returned_count++] = slot;
}

size_t arena_slot_bytes(void)
{
    return SLOT_BYTES;
}

size_t arena_count(void)
{
    return arena.arenas;
}

/*
 * memory.h: the guest's address space, as one reservation of the host's.
 *
 *                 zero                                             (host addresses)
 *   | guard | high |  low ...                                | guard |
 *           ^-1 GiB ^0                                       ^255 GiB (guest addresses)
 *
 * A guest address is a host address after one addition: the low window holds guest addresses from
 * 0 up, the high window the last gibibyte below 2^64, where lambda guests have their stack; both
 * sides of zero are neighbours, as they are in 64-bit arithmetic. Nothing but one comparison
 * stands before an access (memory_is_inside); pages the guest has not mapped are PROT_NONE and
 * fault on the host. The reservation costs address space only.
 *
 * Outside the windows there is nothing for `linux` guests. `lambda` guests have all 2^64 bytes
 * (`sparse`): inside, pages are mapped when they are first touched; the few that are touched
 * outside are kept page by page in a hash table.
 */
#ifndef TRUEFLAME_RISCV_MEMORY_H
#define TRUEFLAME_RISCV_MEMORY_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_WINDOW_BITS 38
#define MEMORY_HIGH_BYTES  (1ull << 30)
#define MEMORY_LOW_BYTES   ((1ull << MEMORY_WINDOW_BITS) - MEMORY_HIGH_BYTES)
#define MEMORY_PAGE        4096ull

enum {
    MEMORY_READ = 1,
    MEMORY_WRITE = 2,
    MEMORY_EXECUTE = 4,
    MEMORY_MAPPED = 128, /* set by memory_map and its kin, even where nothing is allowed */
};

struct memory_page {
    uint64_t number; /* address / MEMORY_PAGE */
    uint8_t *bytes;  /* NULL: a free place in the table */
};

struct guest_memory {
    uint8_t *zero;        /* the host address of guest address 0 */
    uint8_t *permissions; /* MEMORY_... of each page of both windows, high one first */
    bool sparse;          /* outside the windows reads give 0 and writes are kept */
    struct memory_page *pages;
    size_t page_count, page_capacity;
};

int memory_create(struct guest_memory *memory, struct error *error);
void memory_destroy(struct guest_memory *memory);

static inline bool memory_is_inside(uint64_t address)
{
    return (address + MEMORY_HIGH_BYTES) >> MEMORY_WINDOW_BITS == 0;
}

/* The host address of a guest address inside a window. Addresses of the high one are negative
 * distances. */
static inline uint8_t *memory_host(const struct guest_memory *memory, uint64_t address)
{
    return memory->zero + (int64_t)address;
}

/* Whole pages inside a window: callers check with memory_is_range. */
bool memory_is_range(uint64_t address, uint64_t size_bytes);

/* Fresh zeroed pages, or pages of a file; what was there is gone. `shared`: with the processes that
 * are forked, and with whoever maps the file (-1: none). */
int memory_map(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
               unsigned permissions, struct error *error);
int memory_map_file(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                    unsigned permissions, int descriptor, uint64_t offset, bool shared);

/* Moves pages, with what they are mapped to, and makes the mapping larger. */
int memory_move(struct guest_memory *memory, uint64_t from, uint64_t old_bytes, uint64_t to,
                uint64_t new_bytes);
int memory_protect(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                   unsigned permissions);
void memory_unmap(struct guest_memory *memory, uint64_t address, uint64_t size_bytes);

/* Whether every byte of the range has all the permissions. */
bool memory_allows(const struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                   unsigned permissions);

/* Maps what is not mapped of the pages that hold the range, readable and writable. */
int memory_ensure(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                  struct error *error);

/* The mapped pages around an address that neighbour each other: [*start, *end). */
bool memory_find_mapping(const struct guest_memory *memory, uint64_t address, uint64_t *start,
                         uint64_t *end);

/* The first mapping that ends above `address`: [*start, *end) and its permissions. False if there
 * is none. */
bool memory_next_mapping(const struct guest_memory *memory, uint64_t address, uint64_t *start,
                         uint64_t *end, unsigned *permissions);

/* Whether nothing is mapped in the range. */
bool memory_is_free(const struct guest_memory *memory, uint64_t address, uint64_t size_bytes);

/* The highest free range of that size below `limit`; 0 if there is none. */
uint64_t memory_find_free(const struct guest_memory *memory, uint64_t size_bytes, uint64_t limit);

/* Copies between host and guest wherever the guest's bytes are; false, having done nothing, where
 * the guest has no such memory. */
bool memory_read(const struct guest_memory *memory, uint64_t address, void *to, size_t size_bytes);
bool memory_write(struct guest_memory *memory, uint64_t address, const void *from,
                  size_t size_bytes);

/* One access of up to 8 bytes outside the windows, for guests with sparse memory. */
uint64_t memory_load_sparse(const struct guest_memory *memory, uint64_t address, unsigned size);
void memory_store_sparse(struct guest_memory *memory, uint64_t address, uint64_t value,
                         unsigned size);

#endif

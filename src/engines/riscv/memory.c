#include "engines/riscv/memory.h"

#include "common/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WINDOW_BYTES (1ull << MEMORY_WINDOW_BITS)
#define GUARD_BYTES  (64 * MEMORY_PAGE) /* more than any access reaches past an address */
#define WINDOW_PAGES (WINDOW_BYTES / MEMORY_PAGE)

static void *reserve(uint64_t size_bytes, int protection)
{
    void *memory =
        mmap(NULL, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int memory_create(struct guest_memory *memory, struct error *error)
{
    *memory = (struct guest_memory){0};
    uint8_t *reservation = reserve(WINDOW_BYTES + 2 * GUARD_BYTES, PROT_NONE);
    if (!reservation)
        return error_set_errno(error, "cannot reserve %llu GiB of address space for the guest",
                               WINDOW_BYTES >> 30);
    memory->permissions = reserve(WINDOW_PAGES, PROT_READ | PROT_WRITE);
    if (!memory->permissions) {
        munmap(reservation, WINDOW_BYTES + 2 * GUARD_BYTES);
        return error_set_errno(error, "cannot reserve the guest's page table");
    }
    memory->zero = reservation + GUARD_BYTES + MEMORY_HIGH_BYTES;
    return OK;
}

void memory_destroy(struct guest_memory *memory)
{
    if (!memory->zero)
        return;
    munmap(memory->zero - MEMORY_HIGH_BYTES - GUARD_BYTES, WINDOW_BYTES + 2 * GUARD_BYTES);
    munmap(memory->permissions, WINDOW_PAGES);
    for (size_t i = 0; i < memory->page_capacity; i++)
        free(memory->pages[i].bytes);
    free(memory->pages);
    *memory = (struct guest_memory){0};
}

bool memory_is_range(uint64_t address, uint64_t size_bytes)
{
    uint64_t start = address + MEMORY_HIGH_BYTES;
    return start < WINDOW_BYTES && size_bytes <= WINDOW_BYTES - start;
}

static uint64_t page_index(uint64_t address)
{
    return (address + MEMORY_HIGH_BYTES) / MEMORY_PAGE;
}

static uint64_t pages_of(uint64_t size_bytes)
{
    return (size_bytes + MEMORY_PAGE - 1) / MEMORY_PAGE;
}

/* The guest's code is only read by the host, so that execute means read there. */
static int host_protection(unsigned permissions)
{
    return (permissions & (MEMORY_READ | MEMORY_EXECUTE) ? PROT_READ : 0) |
           (permissions & MEMORY_WRITE ? PROT_READ | PROT_WRITE : 0);
}

static void note_permissions(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                             unsigned permissions)
{
    memset(memory->permissions + page_index(address), (int)(permissions | MEMORY_MAPPED),
           pages_of(size_bytes));
}

int memory_map(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
               unsigned permissions, struct error *error)
{
    void *got = mmap(memory_host(memory, address), size_bytes, host_protection(permissions),
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED)
        return error_set_errno(error, "cannot map %llu bytes of guest memory",
                               (unsigned long long)size_bytes);
    note_permissions(memory, address, size_bytes, permissions);
    return OK;
}

int memory_map_file(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                    unsigned permissions, int descriptor, uint64_t offset, bool shared)
{
    int flags = MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE) |
                (descriptor < 0 ? MAP_ANONYMOUS | MAP_NORESERVE : 0);
    void *got = mmap(memory_host(memory, address), size_bytes, host_protection(permissions), flags,
                     descriptor, (off_t)offset);
    if (got == MAP_FAILED)
        return ERROR;
    note_permissions(memory, address, size_bytes, permissions);
    return OK;
}

int memory_move(struct guest_memory *memory, uint64_t from, uint64_t old_bytes, uint64_t to,
                uint64_t new_bytes)
{
    unsigned permissions = memory->permissions[page_index(from)];
    bool in_place = from == to;

    /* In place the host must see that the pages behind are free. */
    if (in_place)
        munmap(memory_host(memory, from + old_bytes), new_bytes - old_bytes);
    void *got = in_place ? mremap(memory_host(memory, from), old_bytes, new_bytes, 0)
                         : mremap(memory_host(memory, from), old_bytes, new_bytes,
                                  MREMAP_MAYMOVE | MREMAP_FIXED, memory_host(memory, to));
    if (got == MAP_FAILED) {
        if (in_place)
            memory_unmap(memory, from + old_bytes, new_bytes - old_bytes);
        return ERROR;
    }
    if (!in_place)
        memory_unmap(memory, from, old_bytes);
    note_permissions(memory, to, new_bytes, permissions);
    return OK;
}

int memory_protect(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                   unsigned permissions)
{
    if (mprotect(memory_host(memory, address), size_bytes, host_protection(permissions)))
        return ERROR;
    note_permissions(memory, address, size_bytes, permissions);
    return OK;
}

void memory_unmap(struct guest_memory *memory, uint64_t address, uint64_t size_bytes)
{
    mmap(memory_host(memory, address), size_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    memset(memory->permissions + page_index(address), 0, pages_of(size_bytes));
}

bool memory_allows(const struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                   unsigned permissions)
{
    if (size_bytes == 0)
        return true;
    if (!memory_is_range(address, size_bytes))
        return false;
    uint64_t last = page_index(address + size_bytes - 1);
    for (uint64_t i = page_index(address); i <= last; i++)
        if ((memory->permissions[i] & permissions) != permissions)
            return false;
    return true;
}

int memory_ensure(struct guest_memory *memory, uint64_t address, uint64_t size_bytes,
                  struct error *error)
{
    uint64_t page = address & ~(MEMORY_PAGE - 1);
    uint64_t count = pages_of(size_bytes + (address - page));

    for (uint64_t i = 0; i < count;) {
        uint64_t run = 0;
        while (i + run < count && !memory->permissions[page_index(page) + i + run])
            run++;
        if (run && memory_map(memory, page + i * MEMORY_PAGE, run * MEMORY_PAGE,
                              MEMORY_READ | MEMORY_WRITE, error))
            return ERROR;
        i += run ? run : 1;
    }
    return OK;
}

bool memory_find_mapping(const struct guest_memory *memory, uint64_t address, uint64_t *start,
                         uint64_t *end)
{
    if (memory->sparse) {
        *start = address < 1ull << 63 ? 0 : 1ull << 63;
        *end = address < 1ull << 63 ? 1ull << 63 : UINT64_MAX;
        return true;
    }
    if (!memory_is_inside(address))
        return false;
    uint64_t page = page_index(address), first = page, last = page;
    uint8_t permissions = memory->permissions[page];
    if (!permissions)
        return false;
    while (first > 0 && memory->permissions[first - 1] == permissions)
        first--;
    while (last + 1 < WINDOW_PAGES && memory->permissions[last + 1] == permissions)
        last++;
    *start = first * MEMORY_PAGE - MEMORY_HIGH_BYTES;
    *end = (last + 1) * MEMORY_PAGE - MEMORY_HIGH_BYTES;
    return true;
}

bool memory_next_mapping(const struct guest_memory *memory, uint64_t address, uint64_t *start,
                         uint64_t *end, unsigned *permissions)
{
    uint64_t page = page_index(address);

    while (page < WINDOW_PAGES && !memory->permissions[page]) {
        /* Most of the window is free: eight pages at a time. */
        uint64_t eight = 0;
        if (page % 8 == 0)
            memcpy(&eight, memory->permissions + page, sizeof eight);
        page += page % 8 == 0 && !eight ? 8 : 1;
    }
    if (page >= WINDOW_PAGES)
        return false;
    *permissions = memory->permissions[page];
    return memory_find_mapping(memory, page * MEMORY_PAGE - MEMORY_HIGH_BYTES, start, end);
}

bool memory_is_free(const struct guest_memory *memory, uint64_t address, uint64_t size_bytes)
{
    if (!memory_is_range(address, size_bytes))
        return false;
    for (uint64_t i = 0; i < pages_of(size_bytes); i++)
        if (memory->permissions[page_index(address) + i])
            return false;
    return true;
}

uint64_t memory_find_free(const struct guest_memory *memory, uint64_t size_bytes, uint64_t limit)
{
    uint64_t wanted = pages_of(size_bytes), found = 0;

    for (uint64_t page = limit / MEMORY_PAGE; page > 16; page--) {
        bool is_free = !memory->permissions[page_index((page - 1) * MEMORY_PAGE)];
        found = is_free ? found + 1 : 0;
        if (found == wanted)
            return (page - 1) * MEMORY_PAGE;
    }
    return 0;
}

/* Sparse pages: open addressing, at most three quarters full. */
static struct memory_page *find_page(const struct guest_memory *memory, uint64_t number)
{
    size_t mask = memory->page_capacity - 1;
    size_t place = (size_t)(number * 0x9e3779b97f4a7c15ull >> 20) & mask;

    while (memory->pages[place].bytes && memory->pages[place].number != number)
        place = (place + 1) & mask;
    return &memory->pages[place];
}

static void grow_pages(struct guest_memory *memory)
{
    struct guest_memory grown = *memory;

    grown.page_capacity = memory->page_capacity ? memory->page_capacity * 2 : 64;
    grown.pages = memory_allocate_zeroed(grown.page_capacity, sizeof *grown.pages);
    for (size_t i = 0; i < memory->page_capacity; i++)
        if (memory->pages[i].bytes)
            *find_page(&grown, memory->pages[i].number) = memory->pages[i];
    free(memory->pages);
    *memory = grown;
}

static uint8_t sparse_byte(const struct guest_memory *memory, uint64_t address)
{
    if (!memory->page_capacity)
        return 0;
    const struct memory_page *page = find_page(memory, address / MEMORY_PAGE);
    return page->bytes ? page->bytes[address % MEMORY_PAGE] : 0;
}

static void put_sparse_byte(struct guest_memory *memory, uint64_t address, uint8_t value)
{
    if (memory->page_count * 4 >= memory->page_capacity * 3)
        grow_pages(memory);
    struct memory_page *page = find_page(memory, address / MEMORY_PAGE);
    if (!page->bytes) {
        page->number = address / MEMORY_PAGE;
        page->bytes = memory_allocate_zeroed(1, MEMORY_PAGE);
        memory->page_count++;
    }
    page->bytes[address % MEMORY_PAGE] = value;
}

uint64_t memory_load_sparse(const struct guest_memory *memory, uint64_t address, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++) {
        uint64_t at = address + i;
        uint8_t byte = 0;
        if (!memory_is_inside(at))
            byte = sparse_byte(memory, at);
        else if (memory->permissions[page_index(at)])
            byte = *memory_host(memory, at);
        value |= (uint64_t)byte << (8 * i);
    }
    return value;
}

void memory_store_sparse(struct guest_memory *memory, uint64_t address, uint64_t value,
                         unsigned size)
{
    for (unsigned i = 0; i < size; i++, value >>= 8) {
        uint64_t at = address + i;
        struct error ignored;
        if (!memory_is_inside(at))
            put_sparse_byte(memory, at, (uint8_t)value);
        else if (!memory_ensure(memory, at, 1, &ignored))
            *memory_host(memory, at) = (uint8_t)value;
    }
}

bool memory_read(const struct guest_memory *memory, uint64_t address, void *to, size_t size_bytes)
{
    if (memory_allows(memory, address, size_bytes, MEMORY_READ)) {
        memcpy(to, memory_host(memory, address), size_bytes);
        return true;
    }
    if (!memory->sparse)
        return false;
    for (size_t i = 0; i < size_bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)memory_load_sparse(memory, address + i, 1);
    return true;
}

bool memory_write(struct guest_memory *memory, uint64_t address, const void *from,
                  size_t size_bytes)
{
    if (memory_allows(memory, address, size_bytes, MEMORY_WRITE)) {
        memcpy(memory_host(memory, address), from, size_bytes);
        return true;
    }
    if (!memory->sparse)
        return false;
    for (size_t i = 0; i < size_bytes; i++)
        memory_store_sparse(memory, address + i, ((const uint8_t *)from)[i], 1);
    return true;
}

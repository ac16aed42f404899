/*
 * linux_memory.c: brk, mmap and their kin: pages of the reservation given out and taken back.
 */
#include "engines/riscv/linux.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t page_up(uint64_t value)
{
    return (value + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
}

static unsigned permissions_of(uint64_t protection)
{
    return (protection & PROT_READ ? MEMORY_READ : 0) |
           (protection & PROT_WRITE ? MEMORY_READ | MEMORY_WRITE : 0) |
           (protection & PROT_EXEC ? MEMORY_EXECUTE : 0);
}

/* Page-aligned and within the low window. */
static bool is_page_range(uint64_t address, uint64_t size_bytes)
{
    return address % MEMORY_PAGE == 0 && address < MEMORY_LOW_BYTES &&
           size_bytes <= MEMORY_LOW_BYTES - address;
}

/* Translated code may be about to go or to change. */
static void forget_code(struct riscv_machine *machine, uint64_t address, uint64_t size_bytes)
{
    uint64_t end = address + page_up(size_bytes);

    for (; address < end; address += MEMORY_PAGE)
        if (memory_allows(&machine->memory, address, 1, MEMORY_EXECUTE)) {
            blocks_flush(&machine->blocks);
            return;
        }
}

int64_t linux_flush_icache(struct riscv_machine *machine, const uint64_t *arguments)
{
    (void)arguments;
    blocks_flush(&machine->blocks);
    return 0;
}

int64_t linux_brk(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    struct error ignored;
    uint64_t wanted = arguments[0], mapped = page_up(state->break_end);

    if (wanted < state->break_start || wanted >= state->map_limit)
        return (int64_t)state->break_end;
    uint64_t end = page_up(wanted);
    if (end > mapped) {
        if (!memory_is_free(&machine->memory, mapped, end - mapped) ||
            memory_map(&machine->memory, mapped, end - mapped, MEMORY_READ | MEMORY_WRITE,
                       &ignored))
            return (int64_t)state->break_end;
    } else if (end < mapped) {
        memory_unmap(&machine->memory, end, mapped - end);
    }
    state->break_end = wanted;
    return (int64_t)wanted;
}

/* The highest room there is; 0: none. Large programs have thousands of mappings side by side, so
 * the search begins where the last one found room at once. */
static uint64_t find_room(struct riscv_machine *machine, uint64_t size_bytes)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t address = memory_find_free(&machine->memory, size_bytes, state->map_full);

    if (address && address + size_bytes == state->map_full)
        state->map_full = address;
    return address;
}

static void unmap(struct riscv_machine *machine, uint64_t address, uint64_t size_bytes)
{
    struct linux_state *state = linux_state_of(machine);

    memory_unmap(&machine->memory, address, size_bytes);
    if (address + size_bytes > state->map_full && address < state->map_limit)
        state->map_full =
            address + size_bytes < state->map_limit ? address + size_bytes : state->map_limit;
}

/* Nothing is mapped below: a NULL pointer with an offset must fault. */
#define LOWEST_ADDRESS 65536

/* Where a mapping goes; -errno if nowhere. */
static int64_t choose_place(struct riscv_machine *machine, uint64_t address, uint64_t size_bytes,
                            uint64_t flags)
{
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        if (address % MEMORY_PAGE)
            return -EINVAL;
        if (!is_page_range(address, size_bytes))
            return -ENOMEM;
        if (flags & MAP_FIXED_NOREPLACE && !memory_is_free(&machine->memory, address, size_bytes))
            return -EEXIST;
        forget_code(machine, address, size_bytes);
        return (int64_t)address;
    }
    address &= ~(MEMORY_PAGE - 1);
    if (address >= LOWEST_ADDRESS && is_page_range(address, size_bytes) &&
        memory_is_free(&machine->memory, address, size_bytes))
        return (int64_t)address;
    address = find_room(machine, size_bytes);
    return address ? (int64_t)address : -ENOMEM;
}

int64_t linux_mmap(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t size_bytes = arguments[1], flags = arguments[3];
    unsigned permissions = permissions_of(arguments[2]);
    bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
    struct error ignored;

    if (!size_bytes || arguments[5] % MEMORY_PAGE)
        return -EINVAL;
    if (size_bytes > MEMORY_LOW_BYTES)
        return -ENOMEM;
    size_bytes = page_up(size_bytes);
    int64_t place = choose_place(machine, arguments[0], size_bytes, flags);
    if (place < 0)
        return place;
    uint64_t address = (uint64_t)place;
    if (flags & MAP_ANONYMOUS && !shared)
        return memory_map(&machine->memory, address, size_bytes, permissions, &ignored) ? -ENOMEM
                                                                                        : place;
    state->shares_memory |= shared;
    int file = flags & MAP_ANONYMOUS ? -1 : (int)arguments[4];
    if (file < 0 && !(flags & MAP_ANONYMOUS))
        return -EBADF;
    return memory_map_file(&machine->memory, address, size_bytes, permissions, file, arguments[5],
                           shared)
               ? -errno
               : place;
}

int64_t linux_munmap(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t size_bytes = arguments[1];

    if (!size_bytes || size_bytes > MEMORY_LOW_BYTES ||
        !is_page_range(arguments[0], page_up(size_bytes)))
        return -EINVAL;
    forget_code(machine, arguments[0], size_bytes);
    unmap(machine, arguments[0], page_up(size_bytes));
    return 0;
}

int64_t linux_mprotect(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t address = arguments[0], size_bytes = arguments[1];

    if (address % MEMORY_PAGE)
        return -EINVAL;
    if (size_bytes > MEMORY_LOW_BYTES || !is_page_range(address, page_up(size_bytes)) ||
        !memory_allows(&machine->memory, address, size_bytes, MEMORY_MAPPED))
        return -ENOMEM;
    forget_code(machine, address, size_bytes);
    if (size_bytes && memory_protect(&machine->memory, address, page_up(size_bytes),
                                     permissions_of(arguments[2])))
        return -errno;
    return 0;
}

/* What the guest says it does not need is gone; other advice does not matter. */
int64_t linux_madvise(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t address = arguments[0], size_bytes = page_up(arguments[1]);

    if (address % MEMORY_PAGE)
        return -EINVAL;
    if (arguments[2] != MADV_DONTNEED)
        return 0;
    if (arguments[1] > MEMORY_LOW_BYTES || !is_page_range(address, size_bytes) ||
        !memory_allows(&machine->memory, address, size_bytes, MEMORY_MAPPED))
        return -ENOMEM;
    forget_code(machine, address, size_bytes);
    return madvise(memory_host(&machine->memory, address), size_bytes, MADV_DONTNEED) ? -errno : 0;
}

/* Grows where it is, if there is room behind; otherwise by moving, if that is allowed. */
int64_t linux_mremap(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t address = arguments[0], old_bytes = arguments[1], new_bytes = arguments[2];
    uint64_t flags = arguments[3], place = address;

    if (old_bytes > MEMORY_LOW_BYTES || new_bytes > MEMORY_LOW_BYTES || !old_bytes || !new_bytes)
        return -EINVAL;
    old_bytes = page_up(old_bytes);
    new_bytes = page_up(new_bytes);
    if (!is_page_range(address, old_bytes) || flags & ~(uint64_t)(MREMAP_MAYMOVE | MREMAP_FIXED) ||
        (flags & MREMAP_FIXED && !(flags & MREMAP_MAYMOVE)))
        return -EINVAL;
    if (!memory_allows(&machine->memory, address, old_bytes, MEMORY_MAPPED))
        return -EFAULT;
    forget_code(machine, address, old_bytes);
    if (flags & MREMAP_FIXED) {
        place = arguments[4];
        if (!is_page_range(place, new_bytes) ||
            (place < address + old_bytes && address < place + new_bytes))
            return -EINVAL;
        forget_code(machine, place, new_bytes);
    }
    if (new_bytes < old_bytes) {
        unmap(machine, address + new_bytes, old_bytes - new_bytes);
        old_bytes = new_bytes;
    }
    if (place == address) {
        if (new_bytes == old_bytes)
            return (int64_t)address;
        if (memory_is_free(&machine->memory, address + old_bytes, new_bytes - old_bytes) &&
            is_page_range(address, new_bytes) &&
            !memory_move(&machine->memory, address, old_bytes, address, new_bytes))
            return (int64_t)address;
        if (!(flags & MREMAP_MAYMOVE) || !(place = find_room(machine, new_bytes)))
            return -ENOMEM;
    }
    if (memory_move(&machine->memory, address, old_bytes, place, new_bytes))
        return -errno;
    unmap(machine, address, old_bytes);
    return (int64_t)place;
}

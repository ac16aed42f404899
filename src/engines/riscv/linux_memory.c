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

int64_t linux_brk(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    struct error ignored;
    uint64_t wanted = arguments[0], mapped = page_up(state->break_end);

    if (wanted < state->break_start || wanted >= state->map_limit)
        return (int64_t)state->break_end;
    uint64_t end = page_up(wanted);
    if (end > mapped) {
        for (uint64_t page = mapped; page < end; page += MEMORY_PAGE)
            if (memory_allows(&machine->memory, page, 1, MEMORY_MAPPED))
                return (int64_t)state->break_end;
        if (memory_map(&machine->memory, mapped, end - mapped, MEMORY_READ | MEMORY_WRITE,
                       &ignored))
            return (int64_t)state->break_end;
    } else if (end < mapped) {
        memory_unmap(&machine->memory, end, mapped - end);
    }
    state->break_end = wanted;
    return (int64_t)wanted;
}

int64_t linux_mmap(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t address = arguments[0], size_bytes = arguments[1], flags = arguments[3];
    unsigned permissions = permissions_of(arguments[2]);
    struct error ignored;

    if (!size_bytes || size_bytes > MEMORY_LOW_BYTES || arguments[5] % MEMORY_PAGE)
        return -EINVAL;
    size_bytes = page_up(size_bytes);
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        if (!is_page_range(address, size_bytes))
            return -ENOMEM;
        for (uint64_t at = 0; flags & MAP_FIXED_NOREPLACE && at < size_bytes; at += MEMORY_PAGE)
            if (memory_allows(&machine->memory, address + at, 1, MEMORY_MAPPED))
                return -EEXIST;
        forget_code(machine, address, size_bytes);
    } else {
        address = memory_find_free(&machine->memory, size_bytes, state->map_limit);
        if (!address)
            return -ENOMEM;
    }
    if (flags & MAP_ANONYMOUS)
        return memory_map(&machine->memory, address, size_bytes, permissions, &ignored)
                   ? -ENOMEM
                   : (int64_t)address;
    /* A shared file mapping that is written to would need to reach the file. */
    if ((flags & MAP_TYPE) != MAP_PRIVATE && permissions & MEMORY_WRITE)
        return -ENODEV;
    return memory_map_file(&machine->memory, address, size_bytes, permissions, (int)arguments[4],
                           arguments[5])
               ? -errno
               : (int64_t)address;
}

int64_t linux_munmap(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t size_bytes = arguments[1];

    if (!size_bytes || size_bytes > MEMORY_LOW_BYTES ||
        !is_page_range(arguments[0], page_up(size_bytes)))
        return -EINVAL;
    forget_code(machine, arguments[0], size_bytes);
    memory_unmap(&machine->memory, arguments[0], page_up(size_bytes));
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

/* Grows by moving, unless the old place has room behind it or the new size is smaller. */
int64_t linux_mremap(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t address = arguments[0], old_bytes = arguments[1], new_bytes = arguments[2];
    struct error ignored;

    if (old_bytes > MEMORY_LOW_BYTES || new_bytes > MEMORY_LOW_BYTES || !old_bytes || !new_bytes)
        return -EINVAL;
    old_bytes = page_up(old_bytes);
    new_bytes = page_up(new_bytes);
    if (!is_page_range(address, old_bytes) || arguments[3] & ~(uint64_t)MREMAP_MAYMOVE)
        return -EINVAL;
    if (!memory_allows(&machine->memory, address, old_bytes, MEMORY_READ | MEMORY_WRITE))
        return -EFAULT;
    if (new_bytes <= old_bytes) {
        if (new_bytes < old_bytes)
            memory_unmap(&machine->memory, address + new_bytes, old_bytes - new_bytes);
        return (int64_t)address;
    }
    if (!(arguments[3] & MREMAP_MAYMOVE))
        return -ENOMEM;
    uint64_t place =
        memory_find_free(&machine->memory, new_bytes, linux_state_of(machine)->map_limit);
    if (!place ||
        memory_map(&machine->memory, place, new_bytes, MEMORY_READ | MEMORY_WRITE, &ignored))
        return -ENOMEM;
    memcpy(memory_host(&machine->memory, place), memory_host(&machine->memory, address), old_bytes);
    memory_unmap(&machine->memory, address, old_bytes);
    return (int64_t)place;
}

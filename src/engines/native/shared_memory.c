/* shared_memory.c: see shared_memory.h. */
#include "engines/native/shared_memory.h"
#include "engines/native/arena.h"
#include "engines/native/limits.h"
#include "engines/native/maps.h"
#include "engines/native/places.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

/* 0: it says nothing to us, and then there is no attaching it either. */
static uint64_t size_of(long segment)
{
    struct shmid_ds state;
    if (sys_failed(sys(shmctl, segment, IPC_STAT, &state)))
        return 0;
    return page_up(state.shm_segsz);
}

static uint32_t protection_of(uint64_t flags)
{
    return PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
}

/* --repeatable: where the reference engine would have it. Another thread may be faster. */
static long attach_repeatably(const uint64_t *r, uint64_t size)
{
    long result = -EINVAL;
    for (unsigned tries = 0; size && result == -EINVAL && tries < 8; tries++) {
        uint64_t place = places_find(0, size);
        if (!place)
            return -ENOMEM;
        result = sys(shmat, r[REGISTER_RDI], place, r[REGISTER_RDX]);
    }
    return result;
}

long shared_memory_call_attach(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t size = size_of((int)r[REGISTER_RDI]), wanted = r[REGISTER_RSI] & -4096ul;
    if (wanted && engine_owns(wanted, wanted + size))
        return -EINVAL;
    if (!limits_allow(size, false))
        return -ENOMEM;
    long result = !wanted && options.repeatable ? attach_repeatably(r, size) : -EINVAL;
    if (sys_failed(result))
        result = syscalls_pass_on(thread);
    if (sys_failed(result) || !size)
        return result;
    syscalls_code_gone(result, result + size);
    maps_add((struct mapping){
        .start = result,
        .end = result + size,
        .protection = protection_of(r[REGISTER_RDX]),
        .flags = MAPPING_SHARED,
    });
    return result;
}

/* Of the segment at `start`, which later calls may have cut; the next one begins at offset 0. */
static uint64_t end_of(uint64_t start)
{
    struct mapping mapping;
    uint64_t end = start;
    while (maps_find(end, &mapping) && (mapping.flags & MAPPING_SHARED) && mapping.start == end &&
           mapping.file_offset == end - start)
        end = mapping.end;
    return end;
}

long shared_memory_call_detach(struct native_thread *thread)
{
    uint64_t start = thread->registers[REGISTER_RDI], end = end_of(start);
    uint64_t newest = syscalls_before_unmapping(start, end);
    long result = syscalls_pass_on(thread);
    if (sys_failed(result))
        return result;
    syscalls_code_gone(start, end);
    maps_remove_until(start, end, newest);
    return result;
}

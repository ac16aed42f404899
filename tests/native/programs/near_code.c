/*
 * near_code.c: a compiler of a running program wants memory for its code in reach of a library's, and
 * takes the first that is free, as Ruby's does: it lies below 2 GB or above, so that all addresses in
 * it have the same length.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { BYTES = 256 << 20, STEP = 4 << 20 };

static int is_near(uint64_t place)
{
    return place < (uint64_t)puts + INT32_MAX - BYTES;
}

int main(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    for (unsigned more = 0; more < STEP; more += STEP / 16) {
        uint64_t place = ((uint64_t)puts & -4096ul) + more;
        while (is_near(place) && mmap((void *)place, BYTES, PROT_READ, flags, -1, 0) == MAP_FAILED)
            place += STEP;
        puts(!is_near(place)                                  ? "none"
             : place < 1ul << 31 && place + BYTES > 1ul << 31 ? "across 2 GB"
                                                              : "found");
        if (is_near(place))
            munmap((void *)place, BYTES);
    }
    return 0;
}

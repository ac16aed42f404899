/* python_memory.c: see python_memory.h. */
#include "core/python_memory.h"
#include "core/platform.h"

#define SMALLEST_PAGE 4096

/* If both its ends can be read, all of it can. */
const uint8_t *python_bytes_at(uint64_t address, size_t size_bytes)
{
    uint64_t last = address + size_bytes - sizeof last, word;
    bool one_page = (address ^ last) < SMALLEST_PAGE;

    return platform_read(last, &word, sizeof word) &&
                   (one_page || platform_read(address, &word, sizeof word))
               ? (const uint8_t *)(uintptr_t)address
               : NULL;
}

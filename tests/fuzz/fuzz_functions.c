/*
 * fuzz_functions.c: any bytes as a program's file, as engines read it: where its functions begin and
 * end, and what parts of them lie elsewhere. Ranges are in order and do not overlap.
 */
#include "core/code.h"
#include "core/elf_functions.h"
#include "core/platform.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The core keeps what it reads of a file for good; here all of it goes with the input. */
static void **pieces;
static size_t piece_count, piece_capacity;

void *platform_allocate(size_t size_bytes)
{
    if (piece_count == piece_capacity) {
        piece_capacity = piece_capacity ? 2 * piece_capacity : 64;
        pieces = realloc(pieces, piece_capacity * sizeof *pieces);
    }
    return pieces[piece_count++] = calloc(1, size_bytes ? size_bytes : 1);
}

void platform_release(void *memory, size_t size_bytes)
{
    (void)memory;
    (void)size_bytes;
}

/* Separate debug files: there are none. */
bool platform_map_file(const char *path, const uint8_t **bytes, size_t *size_bytes)
{
    (void)path;
    (void)bytes;
    (void)size_bytes;
    return false;
}

void platform_unmap_file(const uint8_t *bytes, size_t size_bytes)
{
    (void)bytes;
    (void)size_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct code_module module = {.kind = CODE_FILE, .path = ""};
    /* Words that are looked at as such stand where a mapping would have them. */
    uint8_t *image = aligned_alloc(64, (size + 64) & -(size_t)64);

    memcpy(image, data, size);
    elf_read_functions(&module, image, size);
    for (size_t i = 1; i < module.range_count; i++)
        if (module.ranges[i - 1].end > module.ranges[i].start)
            abort();
    while (piece_count)
        free(pieces[--piece_count]);
    free(image);
    return 0;
}

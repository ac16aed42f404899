/*
 * platform_hosted.c: the core's platform in an ordinary program: the RISC-V engine and the tests.
 */
#include "core/platform.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *platform_allocate(size_t size_bytes)
{
    void *memory = NULL;

    if (size_bytes < 4096)
        memory = calloc(1, size_bytes ? size_bytes : 1);
    else if (!posix_memalign(&memory, 64, size_bytes))
        memset(memory, 0, size_bytes);
    if (!memory)
        platform_fail("out of memory");
    return memory;
}

void platform_release(void *memory, size_t size_bytes)
{
    (void)size_bytes;
    free(memory);
}

bool platform_map_file(const char *path, const uint8_t **bytes, size_t *size_bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;

    if (file < 0)
        return false;
    bool mapped = false;
    if (!fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *memory = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        mapped = memory != MAP_FAILED;
        *bytes = memory;
        *size_bytes = status.st_size;
    }
    close(file);
    return mapped;
}

void platform_unmap_file(const uint8_t *bytes, size_t size_bytes)
{
    munmap((void *)bytes, size_bytes);
}

void platform_fail(const char *sentence)
{
    fprintf(stderr, "trueflame: %s\n", sentence);
    exit(2);
}

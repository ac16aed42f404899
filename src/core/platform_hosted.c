/*
 * platform_hosted.c: the core's platform in an ordinary program: the RISC-V engine and the tests.
 */
#include "core/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
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

enum platform_look platform_look_at(const char *path, uint64_t offset, void *buffer,
                                    size_t *size_bytes, struct platform_file *file)
{
    int opened = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    enum platform_look look = PLATFORM_FILE;
    struct stat status;

    if (opened < 0)
        return errno == ENOENT  ? PLATFORM_ABSENT
               : errno == ELOOP ? PLATFORM_LINK
                                : PLATFORM_REFUSED;
    if (fstat(opened, &status) || !S_ISREG(status.st_mode)) {
        look = PLATFORM_OTHER;
    } else {
        *file = (struct platform_file){.device = status.st_dev,
                                       .inode = status.st_ino,
                                       .size_bytes = (uint64_t)status.st_size,
                                       .owner = status.st_uid};
        ssize_t got = *size_bytes ? pread(opened, buffer, *size_bytes, (off_t)offset) : 0;
        *size_bytes = got > 0 ? (size_t)got : 0;
    }
    close(opened);
    return look;
}

bool platform_read_link(const char *path, char *target, size_t room_bytes)
{
    ssize_t length = readlink(path, target, room_bytes - 1);

    if (length <= 0)
        return false;
    target[length] = '\0';
    return true;
}

uint64_t platform_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t platform_process(void)
{
    return (uint64_t)getpid();
}

uint32_t platform_user(void)
{
    return geteuid();
}

void platform_fail(const char *sentence)
{
    fprintf(stderr, "trueflame: %s\n", sentence);
    exit(2);
}

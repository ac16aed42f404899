#include "common/file.h"

#include "common/memory.h"
#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_BYTES (256 * 1024)

static int read_all(struct file_bytes *file, int descriptor, const char *path, struct error *error)
{
    struct stat status;
    size_t capacity = STEP_BYTES;

    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        capacity = (size_t)status.st_size + 2; /* the NUL, and room to see the end of file */
    file->bytes = memory_allocate(capacity);
    for (;;) {
        file->bytes = memory_grow(file->bytes, &capacity, file->size_bytes + 2, 1);
        ssize_t got =
            read(descriptor, file->bytes + file->size_bytes, capacity - file->size_bytes - 1);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(error, "%s: cannot be read", path);
        file->size_bytes += (size_t)got;
    }
    file->bytes[file->size_bytes] = 0;
    return OK;
}

int file_read(struct file_bytes *file, const char *path, struct error *error)
{
    bool standard = !strcmp(path, "-");
    int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

    *file = (struct file_bytes){0};
    if (descriptor < 0)
        return error_set_errno(error, "%s", path);
    int result = read_all(file, descriptor, path, error);
    if (!standard)
        close(descriptor);
    if (result != OK)
        file_free(file);
    return result;
}

int file_read_ordinary(struct file_bytes *file, const char *path, size_t largest_bytes,
                       struct error *error)
{
    struct stat status;

    if (stat(path, &status))
        return error_set_errno(error, "%s", path);
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > largest_bytes)
        return error_set(error, "%s: too large, or no ordinary file", path);
    return file_read(file, path, error);
}

void file_free(struct file_bytes *file)
{
    free(file->bytes);
    *file = (struct file_bytes){0};
}

int file_map(struct file_bytes *file, const char *path, struct error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {0};

    *file = (struct file_bytes){0};
    if (descriptor < 0)
        return error_set_errno(error, "%s", path);
    void *memory = MAP_FAILED;
    if (!fstat(descriptor, &status) && status.st_size)
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE,
                      descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED)
        return error_set(error, "%s: cannot be read, or is empty", path);
    *file = (struct file_bytes){.bytes = memory, .size_bytes = (size_t)status.st_size};
    return OK;
}

void file_unmap(struct file_bytes *file)
{
    if (file->bytes)
        munmap(file->bytes, file->size_bytes);
    *file = (struct file_bytes){0};
}

#include "python/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPEN_FLAGS             (O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
#define LOWEST_DESCRIPTOR      512
#define CLOCK_TICK_MARGIN_NSEC 20000000

/* Takes over `descriptor`, moved out of the way of the program's own where that is possible. */
static int output_adopt(struct output *output, int descriptor, const char *path,
                        struct error *error)
{
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    if (moved >= 0) {
        close(descriptor);
        descriptor = moved;
    }
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        error_set_errno(error, "%s", path);
        close(descriptor);
        return ERROR;
    }
    output->descriptor = descriptor;
    output->device = status.st_dev;
    output->inode = status.st_ino;
    output->end = (uint64_t)status.st_size;
    snprintf(output->path, sizeof output->path, "%s", path);
    return OK;
}

int output_create(struct output *output, const char *path, struct error *error)
{
    if (strlen(path) >= sizeof output->path)
        return error_set(error, "%.60s...: the path is too long", path);
    int descriptor = open(path, OPEN_FLAGS | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0)
        return error_set_errno(error, "cannot create %s", path);
    return output_adopt(output, descriptor, path, error);
}

/* When this process began, on the clock of file times; 0 when the system does not say. */
static int64_t process_start_nsec(void)
{
    char text[1024];
    int descriptor = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (length <= 0)
        return 0;
    text[length] = 0;
    char *field = strrchr(text, ')'); /* the program's name may hold spaces and brackets */
    for (int number = 2; field && number < 22; number++)
        field = strchr(field + 1, ' ');
    if (!field)
        return 0;
    long ticks_per_second = sysconf(_SC_CLK_TCK);
    struct timespec boot, real;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_REALTIME, &real);
    int64_t started = (int64_t)(strtoull(field, NULL, 10) * (1000000000ull / ticks_per_second));
    int64_t age = boot.tv_sec * 1000000000ll + boot.tv_nsec - started;
    return real.tv_sec * 1000000000ll + real.tv_nsec - age;
}

static bool older_than_process(const struct stat *status)
{
    int64_t written = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec;
    return written < process_start_nsec() - CLOCK_TICK_MARGIN_NSEC;
}

int output_create_or_join(struct output *output, const char *path, struct error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return output_create(output, path, error);
    if (S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1 &&
        !older_than_process(&status)) {
        int descriptor = open(path, OPEN_FLAGS);
        if (descriptor < 0)
            return error_set_errno(error, "cannot open %s", path);
        return output_adopt(output, descriptor, path, error);
    }
    if (unlink(path) != 0)
        return error_set_errno(error, "%s is in the way and cannot be removed", path);
    return output_create(output, path, error);
}

static bool is_our_file(const struct output *output, int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_dev == output->device &&
           status.st_ino == output->inode;
}

/* Makes sure that the descriptor is still our file's; opens the file again when it is not. */
static int output_check(struct output *output, struct error *error)
{
    if (output->descriptor < 0)
        return error_set(error, "no file is open");
    if (is_our_file(output, output->descriptor))
        return OK;
    /* Not ours any more: it belongs to the program now, and must not be closed. */
    output->descriptor = -1;
    int descriptor = open(output->path, OPEN_FLAGS);
    if (descriptor < 0)
        return error_set_errno(error, "%s was closed by the program and cannot be opened again",
                               output->path);
    if (!is_our_file(output, descriptor)) {
        close(descriptor);
        return error_set(error, "%s was closed by the program and is another file now",
                         output->path);
    }
    uint64_t end = output->end;
    int result = output_adopt(output, descriptor, output->path, error);
    output->end = end;
    return result;
}

int output_append(struct output *output, const struct iovec *pieces, int count, struct error *error)
{
    if (output_check(output, error) != OK)
        return ERROR;
    ssize_t wanted = 0;
    for (int i = 0; i < count; i++)
        wanted += (ssize_t)pieces[i].iov_len;
    ssize_t written;
    do
        written = writev(output->descriptor, pieces, count);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return error_set_errno(error, "cannot write %s", output->path);
    off_t end = lseek(output->descriptor, 0, SEEK_CUR);
    if (written < wanted) {
        /* Half a record would spoil what follows it. */
        if (ftruncate(output->descriptor, end - written) != 0)
            return error_set_errno(error, "cannot write %s", output->path);
        errno = ENOSPC;
        return error_set_errno(error, "cannot write %s", output->path);
    }
    output->end = (uint64_t)end;
    return OK;
}

int output_copy(struct output *output, struct output *from, struct error *error)
{
    char buffer[4096];
    uint64_t position = 0;

    if (output_check(from, error) != OK)
        return ERROR;
    while (position < from->end) {
        uint64_t left = from->end - position;
        ssize_t length = pread(from->descriptor, buffer,
                               left < sizeof buffer ? left : sizeof buffer, (off_t)position);
        if (length < 0)
            return error_set_errno(error, "cannot read %s", from->path);
        if (length == 0)
            break;
        struct iovec piece = {.iov_base = buffer, .iov_len = (size_t)length};
        if (output_append(output, &piece, 1, error) != OK)
            return ERROR;
        position += (uint64_t)length;
    }
    return OK;
}

void output_close(struct output *output)
{
    if (output->descriptor >= 0 && is_our_file(output, output->descriptor))
        close(output->descriptor);
    output->descriptor = -1;
}

/*
 * linux_files.c: calls on files whose arguments look different on the host.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* struct stat of the generic 64-bit ABI. */
struct guest_stat {
    uint64_t device, inode;
    uint32_t mode, links, user, group;
    uint64_t special_device, padding_1;
    int64_t size;
    int32_t block_bytes, padding_2;
    int64_t blocks;
    int64_t access_seconds, access_nanoseconds;
    int64_t change_seconds, change_nanoseconds;
    int64_t status_seconds, status_nanoseconds;
    uint32_t unused[2];
};

static int64_t put_stat(struct riscv_machine *machine, uint64_t address, const struct stat *from)
{
    struct guest_stat to = {
        .device = from->st_dev,
        .inode = from->st_ino,
        .mode = from->st_mode,
        .links = (uint32_t)from->st_nlink,
        .user = from->st_uid,
        .group = from->st_gid,
        .special_device = from->st_rdev,
        .size = from->st_size,
        .block_bytes = (int32_t)from->st_blksize,
        .blocks = from->st_blocks,
        .access_seconds = from->st_atim.tv_sec,
        .access_nanoseconds = from->st_atim.tv_nsec,
        .change_seconds = from->st_mtim.tv_sec,
        .change_nanoseconds = from->st_mtim.tv_nsec,
        .status_seconds = from->st_ctim.tv_sec,
        .status_nanoseconds = from->st_ctim.tv_nsec,
    };

    return memory_write(&machine->memory, address, &to, sizeof to) ? 0 : -EFAULT;
}

int64_t linux_fstat(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct stat status;

    return fstat((int)arguments[0], &status) ? -errno : put_stat(machine, arguments[1], &status);
}

const char *linux_text(const struct riscv_machine *machine, uint64_t address, uint64_t most)
{
    for (uint64_t length = 0; length < most; length++) {
        if (!memory_allows(&machine->memory, address + length, 1, MEMORY_READ))
            return NULL;
        if (!*memory_host(&machine->memory, address + length))
            return (const char *)memory_host(&machine->memory, address);
    }
    return NULL;
}

const char *linux_path(const struct riscv_machine *machine, uint64_t address)
{
    return linux_text(machine, address, PATH_MAX);
}

int64_t linux_fstatat(struct riscv_machine *machine, const uint64_t *arguments)
{
    const char *path = linux_path(machine, arguments[1]);
    struct stat status;

    if (!path)
        return -EFAULT;
    return fstatat((int)arguments[0], linux_resolve_path(machine, path), &status, (int)arguments[3])
               ? -errno
               : put_stat(machine, arguments[2], &status);
}

int64_t linux_openat(struct riscv_machine *machine, const uint64_t *arguments)
{
    const char *path = linux_path(machine, arguments[1]);

    if (!path)
        return -EFAULT;
    int64_t own = linux_open_own(machine, path);
    if (own != -ENOENT)
        return own;
    return linux_open_file(machine, (int)arguments[0], linux_resolve_path(machine, path),
                           (int)arguments[2], (mode_t)arguments[3]);
}

int64_t linux_readlinkat(struct riscv_machine *machine, const uint64_t *arguments)
{
    const char *path = linux_path(machine, arguments[1]);
    char link[PATH_MAX];
    ssize_t length;

    if (!path)
        return -EFAULT;
    const char *leads = linux_resolve_path(machine, path);
    if (leads != path) {
        if (!realpath(leads, link))
            return -errno;
        length = (ssize_t)strlen(link);
    } else {
        length = readlinkat((int)arguments[0], path, link, sizeof link);
        if (length < 0)
            return -errno;
    }
    size_t size_bytes = arguments[3] < (uint64_t)length ? arguments[3] : (size_t)length;
    return memory_write(&machine->memory, arguments[2], link, size_bytes) ? (int64_t)size_bytes
                                                                          : -EFAULT;
}

/* ---- reading and writing ---- */

static int64_t result_of(ssize_t result)
{
    return result < 0 ? -errno : result;
}

int64_t linux_read(struct riscv_machine *machine, const uint64_t *arguments)
{
    int64_t waits = linux_await_file(machine, (int)arguments[0], POLLIN);

    return waits ? waits
                 : result_of(
                       read((int)arguments[0], linux_pointer(machine, arguments[1]), arguments[2]));
}

/* A pipe takes this much without making the writer wait, once it says that it is ready. */
#define READY_BYTES 4096

/* With other threads around, one of them may be who reads the pipe: a long write goes out in
 * pieces. */
static int64_t write_in_pieces(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);

    while (thread->done < arguments[2]) {
        int64_t waits = linux_await_file(machine, (int)arguments[0], POLLOUT);
        if (waits == LINUX_WAITS)
            return waits;
        uint64_t piece = arguments[2] - thread->done;
        if (piece > READY_BYTES)
            piece = READY_BYTES;
        int64_t result =
            waits ? waits
                  : result_of(write((int)arguments[0],
                                    linux_pointer(machine, arguments[1] + thread->done), piece));
        if (result <= 0) {
            if (!thread->done)
                return result;
            break;
        }
        thread->done += (uint64_t)result;
        if ((uint64_t)result < piece)
            break;
    }
    int64_t done = (int64_t)thread->done;
    thread->done = 0;
    return done;
}

static bool is_regular(int file)
{
    struct stat status;

    return !fstat(file, &status) && S_ISREG(status.st_mode);
}

int64_t linux_write(struct riscv_machine *machine, const uint64_t *arguments)
{
    int file = (int)arguments[0];

    if (linux_thread_of(machine)->done ||
        (linux_state_of(machine)->thread_count > 1 && arguments[2] > READY_BYTES &&
         !is_regular(file) && !(fcntl(file, F_GETFL) & O_NONBLOCK)))
        return write_in_pieces(machine, arguments);
    int64_t waits = linux_await_file(machine, file, POLLOUT);
    return waits ? waits
                 : result_of(write(file, linux_pointer(machine, arguments[1]), arguments[2]));
}

struct iovec *linux_vector(const struct riscv_machine *machine, uint64_t address, uint64_t count)
{
    struct {
        uint64_t address, size_bytes;
    } from;
    struct iovec *vector = memory_allocate_zeroed(count + 1, sizeof *vector);

    for (uint64_t i = 0; i < count; i++) {
        if (!memory_read(&machine->memory, address + i * sizeof from, &from, sizeof from)) {
            free(vector);
            return NULL;
        }
        vector[i] = (struct iovec){.iov_base = linux_pointer(machine, from.address),
                                   .iov_len = from.size_bytes};
    }
    return vector;
}

/* Does a readv or writev with the vector's guest addresses turned into the host's; at `offset`
 * unless that is -1. */
static int64_t with_vector(struct riscv_machine *machine, const uint64_t *arguments, bool writes,
                           int64_t offset)
{
    int file = (int)arguments[0], count = (int)arguments[2];

    if (arguments[2] > IOV_MAX)
        return -EINVAL;
    int64_t waits = offset < 0 ? linux_await_file(machine, file, writes ? POLLOUT : POLLIN) : 0;
    if (waits)
        return waits;
    struct iovec *vector = linux_vector(machine, arguments[1], arguments[2]);
    if (!vector)
        return -EFAULT;
    ssize_t result = offset < 0 ? (writes ? writev : readv)(file, vector, count)
                                : (writes ? pwritev : preadv)(file, vector, count, offset);
    free(vector);
    return result_of(result);
}

int64_t linux_readv(struct riscv_machine *machine, const uint64_t *arguments)
{
    return with_vector(machine, arguments, false, -1);
}

int64_t linux_writev(struct riscv_machine *machine, const uint64_t *arguments)
{
    return with_vector(machine, arguments, true, -1);
}

int64_t linux_preadv(struct riscv_machine *machine, const uint64_t *arguments)
{
    return (int64_t)arguments[3] < 0
               ? -EINVAL
               : with_vector(machine, arguments, false, (int64_t)arguments[3]);
}

int64_t linux_pwritev(struct riscv_machine *machine, const uint64_t *arguments)
{
    return (int64_t)arguments[3] < 0 ? -EINVAL
                                     : with_vector(machine, arguments, true, (int64_t)arguments[3]);
}

/* ---- control ---- */

/* The third argument is a pointer for some commands; what it points to is the same everywhere. */
int64_t linux_fcntl(struct riscv_machine *machine, const uint64_t *arguments)
{
    int command = (int)arguments[1];
    void *third = (void *)arguments[2];

    switch (command) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_GETOWN_EX:
    case F_SETOWN_EX:
        third = linux_pointer(machine, arguments[2]);
        break;
    case F_OFD_SETLKW:
        return linux_lock_open_file(machine, (int)arguments[0],
                                    linux_pointer(machine, arguments[2]));
    default:
        break;
    }
    return result_of(fcntl((int)arguments[0], command, third));
}

/* What terminals are asked; their structures are the same everywhere. */
int64_t linux_ioctl(struct riscv_machine *machine, const uint64_t *arguments)
{
    switch (arguments[1]) {
    case TCGETS:
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
    case TIOCGWINSZ:
    case TIOCSWINSZ:
    case TIOCSPGRP:
    case FIONBIO:
    case TIOCGPGRP:
    case FIONREAD:
        return ioctl((int)arguments[0], arguments[1], linux_pointer(machine, arguments[2])) < 0
                   ? -errno
                   : 0;
    case FIOCLEX:
    case FIONCLEX:
        return ioctl((int)arguments[0], arguments[1]) < 0 ? -errno : 0;
    default:
        return -ENOTTY;
    }
}

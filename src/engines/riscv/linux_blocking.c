/*
 * linux_blocking.c: calls in which the host would wait for what another thread of the guest has yet
 * to do: threads take turns in one of the host's. With several of them nothing is passed on that
 * may block; alone the guest may as well wait in the host's call.
 */
#include "engines/riscv/linux.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between two attempts at what nobody tells of. */
#define RETRY_NANOSECONDS 1000000

/* A pipe takes this much once it says that it is ready. */
#define READY_BYTES 4096

static bool has_others(const struct riscv_machine *machine)
{
    return linux_state_of(machine)->thread_count > 1;
}

static int64_t result_of(int64_t result)
{
    return result < 0 ? -errno : result;
}

static int64_t try_again_later(struct riscv_machine *machine)
{
    if (linux_thread_of(machine)->wake == WAKE_SIGNAL)
        return -EINTR;
    return linux_await(machine, WAITS_FILES, linux_now(machine) + RETRY_NANOSECONDS);
}

int64_t linux_flock(struct riscv_machine *machine, const uint64_t *arguments)
{
    int file = (int)arguments[0], operation = (int)arguments[1];
    bool blocks = has_others(machine) && !(operation & LOCK_NB);

    if (!flock(file, blocks ? operation | LOCK_NB : operation))
        return 0;
    return blocks && errno == EWOULDBLOCK ? try_again_later(machine) : -errno;
}

/* Of the locks that wait only those that belong to an open file can be another thread's. */
int64_t linux_lock_open_file(struct riscv_machine *machine, int file, void *lock)
{
    if (!has_others(machine))
        return result_of(fcntl(file, F_OFD_SETLKW, lock));
    if (!fcntl(file, F_OFD_SETLK, lock))
        return 0;
    return errno == EAGAIN ? try_again_later(machine) : -errno;
}

/* Until one file has something to read and the other takes it; then what surely goes through. */
static int64_t await_both(struct riscv_machine *machine, uint64_t from, uint64_t to, uint64_t flags,
                          size_t *bytes)
{
    if (flags & SPLICE_F_NONBLOCK)
        return 0;
    int64_t waits = linux_await_file(machine, (int)from, POLLIN);
    if (!waits)
        waits = linux_await_file(machine, (int)to, POLLOUT);
    if (has_others(machine) && *bytes > READY_BYTES)
        *bytes = READY_BYTES;
    return waits;
}

int64_t linux_sendfile(struct riscv_machine *machine, const uint64_t *arguments)
{
    size_t bytes = arguments[3];
    int64_t waits = await_both(machine, arguments[1], arguments[0], 0, &bytes);

    return waits ? waits
                 : result_of(sendfile((int)arguments[0], (int)arguments[1],
                                      linux_pointer(machine, arguments[2]), bytes));
}

int64_t linux_splice(struct riscv_machine *machine, const uint64_t *arguments)
{
    size_t bytes = arguments[4];
    int64_t waits = await_both(machine, arguments[0], arguments[2], arguments[5], &bytes);

    return waits ? waits
                 : result_of(splice((int)arguments[0], linux_pointer(machine, arguments[1]),
                                    (int)arguments[2], linux_pointer(machine, arguments[3]), bytes,
                                    (unsigned)arguments[5]));
}

int64_t linux_tee(struct riscv_machine *machine, const uint64_t *arguments)
{
    size_t bytes = arguments[2];
    int64_t waits = await_both(machine, arguments[0], arguments[1], arguments[3], &bytes);

    return waits ? waits
                 : result_of(
                       tee((int)arguments[0], (int)arguments[1], bytes, (unsigned)arguments[3]));
}

static bool is_fifo(int folder, const char *path)
{
    struct stat status;

    return !fstatat(folder, path, &status, 0) && S_ISFIFO(status.st_mode);
}

/* Opening a FIFO waits for somebody at its other end. A reader need not: what it reads makes it
 * wait all the same. */
int64_t linux_open_file(struct riscv_machine *machine, int folder, const char *path, int flags,
                        mode_t mode)
{
    bool blocks = has_others(machine) && !(flags & (O_NONBLOCK | O_PATH)) && is_fifo(folder, path);
    int file = openat(folder, path, blocks ? flags | O_NONBLOCK : flags, mode);

    if (file < 0)
        return blocks && errno == ENXIO ? try_again_later(machine) : -errno;
    if (blocks)
        fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
    return file;
}

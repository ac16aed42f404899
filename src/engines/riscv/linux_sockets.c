/*
 * linux_sockets.c: calls on sockets and epoll whose arguments hold pointers, look different on the
 * host, or may wait for another thread of the guest.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int64_t result_of(ssize_t result)
{
    return result < 0 ? -errno : result;
}

/* Unless the caller said that it does not want to. */
static int64_t await(struct riscv_machine *machine, const uint64_t *arguments, uint64_t flags,
                     short events)
{
    return flags & MSG_DONTWAIT ? 0 : linux_await_file(machine, (int)arguments[0], events);
}

int64_t linux_sendto(struct riscv_machine *machine, const uint64_t *arguments)
{
    int64_t waits = await(machine, arguments, arguments[3], POLLOUT);

    return waits ? waits
                 : result_of(sendto((int)arguments[0], linux_pointer(machine, arguments[1]),
                                    arguments[2], (int)arguments[3],
                                    linux_pointer(machine, arguments[4]), (socklen_t)arguments[5]));
}

int64_t linux_recvfrom(struct riscv_machine *machine, const uint64_t *arguments)
{
    int64_t waits = await(machine, arguments, arguments[3], POLLIN);

    return waits ? waits
                 : result_of(recvfrom((int)arguments[0], linux_pointer(machine, arguments[1]),
                                      arguments[2], (int)arguments[3],
                                      linux_pointer(machine, arguments[4]),
                                      linux_pointer(machine, arguments[5])));
}

static int64_t accept_with(struct riscv_machine *machine, const uint64_t *arguments, int flags)
{
    int64_t waits = await(machine, arguments, 0, POLLIN);

    return waits ? waits
                 : result_of(accept4((int)arguments[0], linux_pointer(machine, arguments[1]),
                                     linux_pointer(machine, arguments[2]), flags));
}

int64_t linux_accept(struct riscv_machine *machine, const uint64_t *arguments)
{
    return accept_with(machine, arguments, 0);
}

int64_t linux_accept4(struct riscv_machine *machine, const uint64_t *arguments)
{
    return accept_with(machine, arguments, (int)arguments[3]);
}

/* ---- messages ---- */

/* struct msghdr; control messages are the same on the host. */
struct guest_message {
    uint64_t name;
    uint32_t name_bytes, padding_1;
    uint64_t vector, vector_count, control, control_bytes;
    uint32_t flags, padding_2;
};

static int64_t with_message(struct riscv_machine *machine, const uint64_t *arguments, bool sends)
{
    struct guest_message message;
    int64_t waits = await(machine, arguments, arguments[2], sends ? POLLOUT : POLLIN);

    if (waits)
        return waits;
    if (!memory_read(&machine->memory, arguments[1], &message, sizeof message))
        return -EFAULT;
    if (message.vector_count > IOV_MAX)
        return -EMSGSIZE;
    struct iovec *vector = linux_vector(machine, message.vector, message.vector_count);
    if (!vector)
        return -EFAULT;
    struct msghdr header = {.msg_name = linux_pointer(machine, message.name),
                            .msg_namelen = message.name_bytes,
                            .msg_iov = vector,
                            .msg_iovlen = message.vector_count,
                            .msg_control = linux_pointer(machine, message.control),
                            .msg_controllen = message.control_bytes};
    int file = (int)arguments[0], flags = (int)arguments[2];
    int64_t result =
        result_of(sends ? sendmsg(file, &header, flags) : recvmsg(file, &header, flags));
    free(vector);
    if (sends || result < 0)
        return result;
    message.name_bytes = header.msg_namelen;
    message.control_bytes = header.msg_controllen;
    message.flags = (uint32_t)header.msg_flags;
    return memory_write(&machine->memory, arguments[1], &message, sizeof message) ? result
                                                                                  : -EFAULT;
}

int64_t linux_sendmsg(struct riscv_machine *machine, const uint64_t *arguments)
{
    return with_message(machine, arguments, true);
}

int64_t linux_recvmsg(struct riscv_machine *machine, const uint64_t *arguments)
{
    return with_message(machine, arguments, false);
}

/* ---- epoll ---- */

/* On x86-64 alone the kernel's structure is packed. */
struct guest_event {
    uint32_t events, padding;
    uint64_t data;
};

int64_t linux_epoll_ctl(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct guest_event from = {0};

    if (arguments[1] != EPOLL_CTL_DEL &&
        !memory_read(&machine->memory, arguments[3], &from, sizeof from))
        return -EFAULT;
    struct epoll_event event = {.events = from.events, .data.u64 = from.data};
    return epoll_ctl((int)arguments[0], (int)arguments[1], (int)arguments[2], &event) ? -errno : 0;
}

#define MAX_EVENTS 4096

static int64_t take_events(struct riscv_machine *machine, const uint64_t *arguments)
{
    int most = arguments[2] < MAX_EVENTS ? (int)arguments[2] : MAX_EVENTS;
    struct epoll_event *events = memory_allocate_zeroed((size_t)most, sizeof *events);
    int64_t count = result_of(epoll_wait((int)arguments[0], events, most, 0));

    for (int64_t i = 0; i < count; i++) {
        struct guest_event to = {.events = events[i].events, .data = events[i].data.u64};
        if (!memory_write(&machine->memory, arguments[1] + (uint64_t)i * sizeof to, &to, sizeof to))
            count = -EFAULT;
    }
    free(events);
    return count;
}

int64_t linux_epoll_pwait(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    struct pollfd file = {.fd = (int)arguments[0], .events = POLLIN};
    int32_t milliseconds = (int32_t)arguments[3];
    uint64_t deadline = thread->deadline;

    if ((int32_t)arguments[2] <= 0)
        return -EINVAL;
    if (!linux_borrow_mask(machine, arguments[4]))
        return -EFAULT;
    int64_t count = take_events(machine, arguments);
    if (count || !milliseconds || thread->wake == WAKE_EXPIRED)
        return count;
    if (thread->wake == WAKE_SIGNAL)
        return -EINTR;
    if (thread->wake == WAKE_NONE)
        deadline =
            milliseconds < 0 ? LINUX_NEVER : linux_now(machine) + (uint64_t)milliseconds * 1000000;
    return linux_await_files(machine, &file, 1, deadline);
}

/*
 * linux_time.c: clocks and sleeping. The clocks are the host's, except in a repeatable run, where
 * time is what the guest itself makes of it: a nanosecond an instruction, and what it has slept.
 */
#include "engines/riscv/linux.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/times.h>
#include <time.h>

#define NANOSECONDS 1000000000ull

/* A repeatable run begins at the same moment each time. */
#define REPEATABLE_EPOCH 1577836800ull /* 2020-01-01 */

struct guest_time {
    int64_t seconds, nanoseconds;
};

static uint64_t host_now(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

uint64_t linux_now(const struct riscv_machine *machine)
{
    if (machine->options.repeatable)
        return NANOSECONDS + machine_retired(machine) + linux_state_of(machine)->slept;
    return host_now(CLOCK_MONOTONIC);
}

static bool is_realtime(uint64_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI ||
           clock == CLOCK_REALTIME_ALARM;
}

/* The clock's time in nanoseconds; false if there is no such clock. */
static bool read_clock(const struct riscv_machine *machine, uint64_t clock, uint64_t *time)
{
    struct timespec now;

    if (!machine->options.repeatable) {
        if (clock_gettime((clockid_t)clock, &now))
            return false;
        *time = (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
        return true;
    }
    *time = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID
                ? machine_retired(machine)
                : linux_now(machine);
    if (is_realtime(clock))
        *time += REPEATABLE_EPOCH * NANOSECONDS;
    return clock <= CLOCK_TAI;
}

bool linux_deadline(const struct riscv_machine *machine, uint64_t address, bool is_absolute,
                    bool of_realtime, uint64_t *deadline)
{
    struct guest_time time;
    uint64_t now = linux_now(machine), reference;

    *deadline = LINUX_NEVER;
    if (!address)
        return true;
    if (!memory_read(&machine->memory, address, &time, sizeof time) || time.seconds < 0 ||
        time.nanoseconds < 0 || time.nanoseconds >= (int64_t)NANOSECONDS)
        return false;
    if (time.seconds > 1ll << 33) /* three hundred years: never */
        return true;
    uint64_t wanted = (uint64_t)time.seconds * NANOSECONDS + (uint64_t)time.nanoseconds;
    if (!is_absolute) {
        *deadline = now + wanted;
        return true;
    }
    if (!read_clock(machine, of_realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, &reference))
        return false;
    *deadline = wanted <= reference ? now : now + (wanted - reference);
    return true;
}

static bool put_time(struct riscv_machine *machine, uint64_t address, uint64_t nanoseconds,
                     uint64_t unit)
{
    struct guest_time time = {(int64_t)(nanoseconds / NANOSECONDS),
                              (int64_t)(nanoseconds % NANOSECONDS / unit)};

    return memory_write(&machine->memory, address, &time, sizeof time);
}

int64_t linux_clock_gettime(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t now;

    if (!read_clock(machine, arguments[0], &now))
        return -EINVAL;
    return put_time(machine, arguments[1], now, 1) ? 0 : -EFAULT;
}

int64_t linux_gettimeofday(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t now = 0, zone = 0;

    read_clock(machine, CLOCK_REALTIME, &now);
    if (arguments[0] && !put_time(machine, arguments[0], now, 1000))
        return -EFAULT;
    if (arguments[1] && !memory_write(&machine->memory, arguments[1], &zone, sizeof zone))
        return -EFAULT;
    return 0;
}

int64_t linux_times(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t ticks = linux_now(machine) / (NANOSECONDS / 100);
    struct tms used = {.tms_utime = (clock_t)(machine_retired(machine) / (NANOSECONDS / 100))};

    if (!machine->options.repeatable)
        ticks = (uint64_t)times(&used);
    if (arguments[0] && !memory_write(&machine->memory, arguments[0], &used, sizeof used))
        return -EFAULT;
    return (int64_t)ticks;
}

static int64_t sleep_until(struct riscv_machine *machine, uint64_t deadline, uint64_t rest)
{
    uint64_t now = linux_now(machine);

    if (linux_thread_of(machine)->wake == WAKE_EXPIRED || deadline <= now)
        return 0;
    if (linux_thread_of(machine)->wake != WAKE_SIGNAL)
        return linux_await(machine, WAITS_FILES, deadline);
    if (rest && !put_time(machine, rest, deadline - now, 1))
        return -EFAULT;
    return -EINTR;
}

int64_t linux_nanosleep(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t deadline = thread->deadline;

    if (!arguments[0])
        return -EFAULT;
    if (thread->wake == WAKE_NONE &&
        !linux_deadline(machine, arguments[0], false, false, &deadline))
        return -EINVAL;
    return sleep_until(machine, deadline, arguments[1]);
}

int64_t linux_clock_nanosleep(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t deadline = thread->deadline;
    bool is_absolute = arguments[1] & TIMER_ABSTIME;

    if (!arguments[2])
        return -EFAULT;
    if (thread->wake == WAKE_NONE &&
        !linux_deadline(machine, arguments[2], is_absolute, is_realtime(arguments[0]), &deadline))
        return -EINVAL;
    return sleep_until(machine, deadline, is_absolute ? 0 : arguments[3]);
}

/* splitmix64: a repeatable run's randomness. */
static uint64_t next_random(struct linux_state *state)
{
    uint64_t value = state->random += 0x9e3779b97f4a7c15ull;

    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

int64_t linux_getrandom(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t size_bytes = arguments[1] < 1 << 25 ? arguments[1] : 1 << 25;
    uint8_t *to = linux_pointer(machine, arguments[0]);

    if (!memory_allows(&machine->memory, arguments[0], size_bytes, MEMORY_WRITE))
        return -EFAULT;
    if (!machine->options.repeatable) {
        ssize_t got = getrandom(to, size_bytes, (unsigned)arguments[2]);
        return got < 0 ? -errno : got;
    }
    for (uint64_t i = 0; i < size_bytes; i++)
        to[i] = (uint8_t)next_random(linux_state_of(machine));
    return (int64_t)size_bytes;
}

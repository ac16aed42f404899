/* fixed.c: see fixed.h. */
#include "core/fixed.h"

#define START (1577836800ul * FIXED_SECOND) /* 2020-01-01 */
#define STEP  1000ul
#define MIX   0x9e3779b97f4a7c15ul

/* The kernel's numbers of clocks. */
enum {
    CLOCK_OF_DAY = 0,
    CLOCK_OF_PROCESS = 2,
    CLOCK_OF_THREAD = 3,
    CLOCK_OF_DAY_COARSE = 5,
    CLOCK_OF_DAY_ALARM = 8,
    CLOCK_ATOMIC = 11,
};

uint64_t fixed_pass(struct fixed *fixed, uint64_t nanoseconds)
{
    return __atomic_add_fetch(&fixed->elapsed, nanoseconds, __ATOMIC_RELAXED);
}

uint64_t fixed_ask(struct fixed *fixed)
{
    return fixed_pass(fixed, STEP);
}

uint64_t fixed_clock(uint64_t clock, uint64_t passed)
{
    switch (clock) {
    case CLOCK_OF_DAY:
    case CLOCK_OF_DAY_COARSE:
    case CLOCK_OF_DAY_ALARM:
    case CLOCK_ATOMIC:
        return START + passed;
    case CLOCK_OF_PROCESS:
    case CLOCK_OF_THREAD:
        return passed;
    default:
        return clock > CLOCK_ATOMIC ? passed /* another's processor time */
                                    : passed + FIXED_SECOND;
    }
}

uint64_t fixed_counter(struct fixed *fixed)
{
    return START + fixed_ask(fixed);
}

/* By the kernel's numbers, which no header of the core's has. */
struct fixed_limit fixed_limit_of(uint64_t system_call)
{
    switch (system_call) {
    case 7: /* poll */
        return (struct fixed_limit){FIXED_LIMIT_MILLISECONDS, 2};
    case 232: /* epoll_wait */
    case 281: /* epoll_pwait */
        return (struct fixed_limit){FIXED_LIMIT_MILLISECONDS, 3};
    case 128: /* rt_sigtimedwait */
    case 271: /* ppoll */
        return (struct fixed_limit){FIXED_LIMIT_NANOSECONDS, 2};
    case 441: /* epoll_pwait2 */
        return (struct fixed_limit){FIXED_LIMIT_NANOSECONDS, 3};
    case 270: /* pselect6 */
        return (struct fixed_limit){FIXED_LIMIT_NANOSECONDS, 4};
    case 23: /* select */
        return (struct fixed_limit){FIXED_LIMIT_MICROSECONDS, 4};
    default:
        return (struct fixed_limit){FIXED_NO_LIMIT, 0};
    }
}

void fixed_random(struct fixed *fixed, uint8_t *bytes, uint64_t size_bytes)
{
    for (uint64_t i = 0; i < size_bytes; i++) {
        uint64_t x = __atomic_add_fetch(&fixed->random_count, 1, __ATOMIC_RELAXED) * MIX;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ul;
        x = (x ^ x >> 27) * 0x94d049bb133111ebul;
        bytes[i] = x >> 56;
    }
}

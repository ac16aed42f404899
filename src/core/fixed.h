/*
 * fixed.h: time and chance as programs are shown them with --repeatable, the same in every run and
 * under every engine: clocks begin at a fixed moment and go on by a step each time they are asked,
 * and by what is slept or waited in vain; randomness is one sequence.
 */
#ifndef TRUEFLAME_FIXED_H
#define TRUEFLAME_FIXED_H

#include <stdint.h>

#define FIXED_SECOND 1000000000ul /* in nanoseconds, as all times here */

struct fixed {
    uint64_t elapsed;
    uint64_t random_count; /* bytes given so far */
};

/* Time goes on. Threads may call it at once. What has passed since the beginning. */
uint64_t fixed_pass(struct fixed *fixed, uint64_t nanoseconds);

/* A clock is asked: one step later than before. */
uint64_t fixed_ask(struct fixed *fixed);

/* What the clock of that number, the kernel's, shows when so much has passed. */
uint64_t fixed_clock(uint64_t clock, uint64_t passed);

/* The time-stamp counter, asked. */
uint64_t fixed_counter(struct fixed *fixed);

/* Where a system call that waits for events, or for a signal, has its time limit: when it gives up, that
 * much has passed. */
struct fixed_limit {
    enum {
        FIXED_NO_LIMIT, /* it is no such call */
        FIXED_LIMIT_MILLISECONDS,
        FIXED_LIMIT_NANOSECONDS, /* a struct timespec's address, 0: none */
        FIXED_LIMIT_MICROSECONDS /* a struct timeval's, likewise */
    } unit;
    unsigned argument; /* the first is 0 */
};
struct fixed_limit fixed_limit_of(uint64_t system_call);

void fixed_random(struct fixed *fixed, uint8_t *bytes, uint64_t size_bytes);

#endif

/*
 * fixed.h: time and chance as programs are shown them with --repeatable, the same in every run and
 * under every engine: clocks begin at a fixed moment and go on by a step each time they are asked,
 * and by what is slept; randomness is one sequence.
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

void fixed_random(struct fixed *fixed, uint8_t *bytes, uint64_t size_bytes);

#endif

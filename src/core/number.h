/*
 * number.h: numbers in as few bytes as they take, as raw files have them and what is kept for those:
 * seven bits in each, the lowest ones first, and one more follows where the eighth is set.
 */
#ifndef TRUEFLAME_CORE_NUMBER_H
#define TRUEFLAME_CORE_NUMBER_H

#include <stdint.h>

#define NUMBER_BYTES 10 /* at most */

/* Returns where it ends. */
static inline uint8_t *number_put(uint8_t *at, uint64_t number)
{
    for (; number > 127; number >>= 7)
        *at++ = (uint8_t)(number | 128);
    *at++ = (uint8_t)number;
    return at;
}

/* What number_put has put at *at, which moves behind it. */
static inline uint64_t number_take(const uint8_t **at)
{
    uint64_t number = 0;
    uint8_t byte = 128;

    for (unsigned shift = 0; byte > 127; shift += 7) {
        byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
    }
    return number;
}

/* Small ones either way are short. */
static inline uint64_t number_from_signed(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static inline int64_t number_to_signed(uint64_t number)
{
    return (int64_t)(number >> 1 ^ -(number & 1));
}

#endif

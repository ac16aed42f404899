/*
 * varint.h: numbers of as many bytes as they take, as profiles and raw files have them: seven bits in
 * each, the lowest first; all but the last byte have the eighth set.
 */
#ifndef TRUEFLAME_PROFILE_VARINT_H
#define TRUEFLAME_PROFILE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

/* The number at *at, which moves behind it; 0, and *failed, where none of 64 bits ends before `end`. Here,
 * since there are millions. */
static inline uint64_t varint_read(const uint8_t **at, const uint8_t *end, bool *failed)
{
    const uint8_t *next = *at;
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && next < end; shift += 7) {
        uint8_t byte = *next++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *at = next;
            return value;
        }
    }
    *at = next;
    *failed = true;
    return 0;
}

#endif

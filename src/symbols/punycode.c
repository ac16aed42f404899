#include "symbols/punycode.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static size_t encode_utf_8(uint32_t code, char *bytes)
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    bytes[0] = (char)(0xf0 | code >> 18);
    bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
    bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
    bytes[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

static uint32_t adapt_bias(uint32_t delta, uint32_t points, bool first)
{
    uint32_t steps = 0;

    delta = first ? delta / 700 : delta / 2;
    for (delta += delta / points; delta > 455; delta /= 35)
        steps += 36;
    return steps + 36 * delta / (delta + 38);
}

/* One generalised variable-length integer; false when it is not one. */
static bool read_delta(const char **at, const char *end, uint32_t bias, uint64_t *delta)
{
    uint64_t weight = 1;

    for (uint32_t k = 36;; k += 36) {
        if (*at == end)
            return false;
        unsigned char letter = (unsigned char)*(*at)++;
        if (!islower(letter) && !isdigit(letter))
            return false;
        uint32_t digit = (uint32_t)(islower(letter) ? letter - 'a' : letter - '0' + 26);
        uint32_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        *delta += digit * weight;
        if (*delta > UINT32_MAX)
            return false;
        if (digit < threshold)
            return true;
        weight *= 36 - threshold;
        if (weight > UINT32_MAX)
            return false;
    }
}

size_t punycode_decode(const char *text, size_t length, char bytes[PUNYCODE_MOST_BYTES])
{
    uint32_t points[PUNYCODE_MOST_POINTS];
    const char *separator = memrchr(text, '_', length);
    const char *at = separator ? separator + 1 : text;
    size_t count = separator ? (size_t)(separator - text) : 0;
    uint32_t code = 0x80, bias = 72;
    uint64_t position = 0;
    size_t used = 0;

    if (length > PUNYCODE_MOST_POINTS)
        return 0;
    for (size_t i = 0; i < count; i++)
        points[i] = (unsigned char)text[i];
    while (at < text + length) {
        uint64_t before = position;
        if (!read_delta(&at, text + length, bias, &position))
            return 0;
        count++; /* takes at least one byte of the text, so the array is large enough */
        bias = adapt_bias((uint32_t)(position - before), (uint32_t)count, before == 0);
        if (position / count > 0x10ffff - code)
            return 0;
        code += (uint32_t)(position / count);
        position %= count;
        memmove(&points[position + 1], &points[position],
                (count - 1 - (size_t)position) * sizeof *points);
        points[position++] = code;
    }
    for (size_t i = 0; i < count; i++)
        used += encode_utf_8(points[i], bytes + used);
    return used;
}

/*
 * punycode.h: names with letters beyond ASCII, as Rust's symbols spell them.
 */
#ifndef TRUEFLAME_PUNYCODE_H
#define TRUEFLAME_PUNYCODE_H

#include <stddef.h>

#define PUNYCODE_MOST_POINTS 256
#define PUNYCODE_MOST_BYTES  (4 * PUNYCODE_MOST_POINTS)

/* Decodes RFC 3492's Punycode, with `_` for `-`, into UTF-8, not terminated; the number of bytes,
 * 0 when `text` is not Punycode or longer than PUNYCODE_MOST_POINTS. */
size_t punycode_decode(const char *text, size_t length, char bytes[PUNYCODE_MOST_BYTES]);

#endif

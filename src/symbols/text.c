#include "symbols/text.h"

#include <stddef.h>
#include <stdint.h>

/* How many bytes the character at `text` has, 0 when it is not UTF-8. Overlong forms, surrogates
 * and what lies beyond U+10FFFF are not. */
static size_t character_length(const uint8_t *text)
{
    uint32_t code;
    size_t length;

    if (text[0] < 0x80)
        return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    code = text[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
        (length == 4 && (code < 0x10000 || code > 0x10ffff)))
        return 0;
    return length;
}

void text_make_printable(char *text)
{
    uint8_t *at = (uint8_t *)text;

    while (*at) {
        size_t length = character_length(at);
        if (length == 0 || *at < 0x20 || *at == 0x7f)
            *at = '?';
        at += length ? length : 1;
    }
}

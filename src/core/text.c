#include "core/text.h"
#include "core/platform.h"

size_t text_length(const char *text)
{
    size_t length = 0;

    while (text[length])
        length++;
    return length;
}

bool text_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

bool text_equal_n(const char *a, const char *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool text_starts_with(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return false;
    return true;
}

char *text_keep(const char *text)
{
    size_t size_bytes = text_length(text) + 1;
    char *copy = platform_allocate(size_bytes);

    for (size_t i = 0; i < size_bytes; i++)
        copy[i] = text[i];
    return copy;
}

char **text_keep_list(char *const *list)
{
    size_t count = 0;

    while (list[count])
        count++;
    char **kept = platform_allocate((count + 1) * sizeof *kept);
    for (size_t i = 0; i < count; i++)
        kept[i] = text_keep(list[i]);
    return kept;
}

size_t text_from_number(char *out, uint64_t number)
{
    char digits[20];
    size_t count = 0;

    do
        digits[count++] = '0' + number % 10;
    while (number /= 10);
    for (size_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    out[count] = '\0';
    return count;
}

uint64_t text_to_number(const char *text, const char **end)
{
    uint64_t number = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        number = 10 * number + (uint64_t)(*text - '0');
    *end = text;
    return number;
}

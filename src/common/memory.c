#include "common/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *check(void *memory)
{
    if (!memory) {
        fputs("trueflame: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

void *memory_allocate(size_t size_bytes)
{
    return check(malloc(size_bytes ? size_bytes : 1));
}

void *memory_allocate_zeroed(size_t count, size_t size_bytes)
{
    return check(calloc(count ? count : 1, size_bytes ? size_bytes : 1));
}

void *memory_resize(void *old, size_t size_bytes)
{
    return check(realloc(old, size_bytes ? size_bytes : 1));
}

char *memory_duplicate_string(const char *text)
{
    return check(strdup(text));
}

char *memory_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return check(length < 0 ? NULL : text);
}

void *memory_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes)
{
    if (needed <= *capacity)
        return array;
    size_t wanted = *capacity ? *capacity : 16;
    while (wanted < needed)
        wanted *= 2;
    size_t size_bytes;
    if (__builtin_mul_overflow(wanted, element_bytes, &size_bytes))
        check(NULL);
    *capacity = wanted;
    return memory_resize(array, size_bytes);
}

#include "common/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE       4096ul
#define LARGE_PAGE (2ul << 20)

void *memory_check(void *memory)
{
    if (!memory) {
        fputs("trueflame: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* What is very large is a mapping of its own, and is going to be filled: the kernel is quicker to give
 * it in large pages. All of it, since a mapping of two kinds could not be made larger where it is. */
static void *in_large_pages(void *memory, size_t size_bytes)
{
    uintptr_t first = (uintptr_t)memory & -PAGE;
    uintptr_t end = ((uintptr_t)memory + size_bytes + PAGE - 1) & -PAGE;

    if (size_bytes >= 2 * LARGE_PAGE)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
    return memory;
}

void *memory_allocate(size_t size_bytes)
{
    return in_large_pages(memory_check(malloc(size_bytes ? size_bytes : 1)), size_bytes);
}

void *memory_allocate_zeroed(size_t count, size_t size_bytes)
{
    void *memory = memory_check(calloc(count ? count : 1, size_bytes ? size_bytes : 1));

    return in_large_pages(memory, count * size_bytes);
}

void *memory_resize(void *old, size_t size_bytes)
{
    return in_large_pages(memory_check(realloc(old, size_bytes ? size_bytes : 1)), size_bytes);
}

char *memory_duplicate_string(const char *text)
{
    return memory_check(strdup(text));
}

char *memory_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return memory_check(length < 0 ? NULL : text);
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
        memory_check(NULL);
    *capacity = wanted;
    return memory_resize(array, size_bytes);
}

/* text.c: see text.h. */
#include "engines/native/files.h"
#include "engines/native/text.h"
#include "engines/native/sys.h"
#include <fcntl.h>
#include <stdarg.h>

#define FEW 128 /* bytes: the processor takes a while to begin with `rep` */

/* Words anywhere. */
typedef uint64_t __attribute__((may_alias, aligned(1))) word64;
typedef uint32_t __attribute__((may_alias, aligned(1))) word32;

static void copy_few(uint8_t *out, const uint8_t *in, size_t size)
{
    if (size >= 8) { /* the last word may have bytes of the one before it */
        for (size_t at = 0; at + 8 < size; at += 8)
            *(word64 *)(out + at) = *(const word64 *)(in + at);
        *(word64 *)(out + size - 8) = *(const word64 *)(in + size - 8);
    } else if (size >= 4) {
        uint32_t last = *(const word32 *)(in + size - 4);
        *(word32 *)out = *(const word32 *)in;
        *(word32 *)(out + size - 4) = last;
    } else {
        for (size_t at = 0; at < size; at++)
            out[at] = in[at];
    }
}

static void copy_upwards(uint8_t *out, const uint8_t *in, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(size) : : "memory");
}

void *memcpy(void *to, const void *from, size_t size)
{
    if (size <= FEW)
        copy_few(to, from, size);
    else
        copy_upwards(to, from, size);
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if (out <= in || out >= in + size) {
        copy_upwards(out, in, size);
        return to;
    }
    while (size--)
        out[size] = in[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    void *destination = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
    return destination;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const uint8_t *left = a, *right = b;
    for (size_t i = 0; i < size; i++)
        if (left[i] != right[i])
            return left[i] - right[i];
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (uint8_t)*a - (uint8_t)*b;
}

bool string_starts(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return false;
    return true;
}

void string_add(struct string_builder *builder, const char *text)
{
    for (; *text && builder->size + 1 < builder->capacity; text++)
        builder->text[builder->size++] = *text;
    builder->text[builder->size] = 0;
}

void string_add_number(struct string_builder *builder, uint64_t number, unsigned base)
{
    char digits[32];
    unsigned at = sizeof digits;
    digits[--at] = 0;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    string_add(builder, digits + at);
}

static void join_list(struct string_builder *builder, const char *first, va_list rest)
{
    for (const char *text = first; text; text = va_arg(rest, const char *))
        string_add(builder, text);
}

static void say_list(const char *first, va_list rest)
{
    char line[1024];
    struct string_builder builder = {line, 0, sizeof line - 1};
    string_add(&builder, "trueflame: ");
    join_list(&builder, first, rest);
    line[builder.size++] = '\n';
    sys(write, 2, line, builder.size);
}

static const char *refusal_path;

void refuse_into(const char *path)
{
    refusal_path = path;
}

/* For `record` to say, or to act upon; false if it cannot be left there. */
static bool leave_refusal(const char *first, va_list rest)
{
    char line[1024];
    struct string_builder builder = {line, 0, sizeof line};
    long file = refusal_path ? files_open(refusal_path, O_WRONLY | O_CREAT | O_TRUNC) : -1;
    if (sys_failed(file))
        return false;
    join_list(&builder, first, rest);
    sys(write, file, line, builder.size);
    sys(close, file);
    return true;
}

void say(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    say_list(first, rest);
    va_end(rest);
}

void fail(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    say_list(first, rest);
    va_end(rest);
    for (;;)
        sys(exit_group, STATUS_FAILED);
}

void refuse_program(const char *first, ...)
{
    va_list rest, again;
    va_start(rest, first);
    va_copy(again, rest);
    if (!leave_refusal(first, rest))
        say_list(first, again);
    va_end(again);
    va_end(rest);
    for (;;)
        sys(exit_group, STATUS_REFUSED);
}

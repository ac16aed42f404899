/*
 * text.h: strings and words to the user, without libc.
 */
#ifndef TRUEFLAME_NATIVE_TEXT_H
#define TRUEFLAME_NATIVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

bool string_starts(const char *text, const char *prefix);

/* A bounded builder: what does not fit is cut, the text is always terminated. */
struct string_builder {
    char *text;
    size_t size, capacity;
};
void string_add(struct string_builder *builder, const char *text);
void string_add_number(struct string_builder *builder, uint64_t number, unsigned base);

/* One line to stderr, "trueflame: " in front: the strings up to a NULL, joined. */
void say(const char *first, ...) __attribute__((sentinel));

enum engine_status {
    STATUS_FAILED = 125,  /* the engine could not go on */
    STATUS_REFUSED = 124, /* this program is not for this engine; nothing of it has run */
};

/* Refusals are left in this file, not said. */
void refuse_into(const char *path);

/* Says the sentence and ends the process. */
_Noreturn void fail(const char *first, ...) __attribute__((sentinel));
_Noreturn void refuse_program(const char *first, ...) __attribute__((sentinel));

#endif

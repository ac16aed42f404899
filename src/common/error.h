/*
 * error.h: how a function says what went wrong.
 *
 * A function that can fail on something outside the program (a file, an input, the machine) takes
 * a `struct error *`, fills it with one sentence a user can act on, and returns ERROR (-1). Only
 * src/cli prints and exits. Errors of the programmer are asserts; running out of memory ends the
 * process with a line of its own (memory.h), because no caller could do better.
 */
#ifndef TRUEFLAME_ERROR_H
#define TRUEFLAME_ERROR_H

#define OK    0
#define ERROR (-1)

struct error {
    char text[512]; /* one sentence, no newline, names the file it is about */
};

/* Fills `error` and returns ERROR, so that `return error_set(error, ...)` reads naturally. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, with ": " and the text of errno appended. */
int error_set_errno(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

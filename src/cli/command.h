/*
 * command.h: the commands, and what they share in speaking to a user.
 *
 * A command gets argv with its own name in argv[0] and returns the exit status: 0, 1 where the
 * command itself says "no" (diff --fail-above), EXIT_BAD_INPUT for everything a user can set
 * right. Messages go to stderr, one line each, prefixed "trueflame: ".
 */
#ifndef TRUEFLAME_COMMAND_H
#define TRUEFLAME_COMMAND_H

#include "common/error.h"
#include <stdint.h>

#define EXIT_BAD_INPUT 2

struct command {
    const char *name;
    const char *summary; /* one line of `trueflame --help` */
    int (*run)(int argc, char **argv);
};

int command_trampoline(int argc, char **argv);
int command_record(int argc, char **argv);
int command_info(int argc, char **argv);
int command_report(int argc, char **argv);
int command_view(int argc, char **argv);
int command_export(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_import(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_symbolize(int argc, char **argv);

/* Runs it, on a stack of its own where the limit on the given one is small. */
int cli_run(const struct command *command, int argc, char **argv);

/* Prints "trueflame: " and the message; returns EXIT_BAD_INPUT. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_error(const struct error *error);

/* What getopt_long's '?' was about (opterr must be 0); returns EXIT_BAD_INPUT. `code` is what
 * getopt_long returned: '?' or ':'. */
int cli_fail_option(const char *command, char **argv, int code);

/* A number of an option, or a message that names the option. */
int cli_parse_number(const char *option, const char *text, uint64_t *value);

/* Which of `choices` (ended by NULL) an option's value is; ERROR, and a message that lists them,
 * when it is none. */
int cli_parse_choice(const char *option, const char *value, const char *const *choices,
                     int *chosen);

/* `value` with a comma after every third digit, into at least 32 bytes. */
void cli_group_number(char *grouped, uint64_t value);

/* 0 when all that was printed arrived; otherwise a message (a full disk, say). */
int cli_finish_output(void);

#endif

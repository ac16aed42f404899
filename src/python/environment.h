/*
 * environment.h: makes the Pythons that this process is about to start activate trampolines.
 *
 * Nothing is done to the program: PYTHONPATH leads every Python to our sitecustomize, which leads
 * on to the program's own. Used by `trueflame trampoline` and `record --python=trampoline`.
 */
#ifndef TRUEFLAME_PYTHON_ENVIRONMENT_H
#define TRUEFLAME_PYTHON_ENVIRONMENT_H

#include "common/error.h"

#include <stdbool.h>

/* The directory that holds the package, beside the program or where it was installed. The text is
 * allocated; NULL with `error` set when there is none. */
char *python_environment_directory(struct error *error);

/* Sets PYTHONPATH and what the extension reads. `names` is "both", "map" or "jitdump". A Python of
 * this very process (after exec) that cannot have trampolines will end with status 2. */
int python_environment_prepare(const char *names, struct error *error);

/* Why the command, a Python or a script for one, would not see that environment: fills `error` and
 * returns ERROR. `arguments` ends with NULL. Commands that are not Python are OK: they may start
 * one. */
int python_environment_check_command(char *const *arguments, struct error *error);

/* Which trampolines there are, and where, as engines are told (core/python_again.h). Allocated. */
char *python_environment_trampolines(void);

/* Is the command a Python, or a script for one? */
bool python_environment_is_python(const char *command);

#endif

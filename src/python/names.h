/*
 * names.h: what a trampoline is called, told to everyone who might ask.
 *
 * A name is `py::QUALNAME:FILE`, as CPython's own trampolines have it, so that tools that know
 * those know ours. From 3.11 on QUALNAME is the qualified name; before, code objects know only the
 * bare one. Control characters become `?`, characters that cannot be encoded become escapes, so
 * that a name is always one line of valid UTF-8.
 *
 * A file that cannot be written is something to lose, not something to fail for: one line on stderr
 * says so, and the program runs on.
 */
#ifndef TRUEFLAME_PYTHON_NAMES_H
#define TRUEFLAME_PYTHON_NAMES_H

#include "python/version.h"

#include <stdbool.h>

#include "common/error.h"

enum { NAMES_MAP = 1, NAMES_JITDUMP = 2 };

/* Opens the files of `names`, a sum of the above. Files that are open already go on as they are. */
int names_open(int names, struct error *error);

void names_add(PyCodeObject *code, const void *trampoline);

/* In the child of a fork: opens the child's own files. Does nothing in the process that has them.
 */
void names_follow_fork(void);

/* Whether an address may get a second name: only when no map was ever written. */
bool names_allow_reuse(void);

#endif

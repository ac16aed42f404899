/*
 * exec.h: the program becomes another program.
 */
#ifndef TRUEFLAME_NATIVE_EXEC_H
#define TRUEFLAME_NATIVE_EXEC_H

#include "engines/native/thread.h"

/* The engine's own arguments, up to and with "--": the next program gets the same. */
void exec_init(char **arguments);

/* The program begins once more, with another environment; returns if it does not. */
void exec_once_more(char **environment);

long exec_call_execve(struct native_thread *thread);
long exec_call_execveat(struct native_thread *thread);

#endif

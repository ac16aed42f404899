/*
 * python_codes.h: what a thread knows of the code objects that it runs, for python_fast.c.
 *
 * A code object is known by its address. What that stands for is remembered until the object dies:
 * the function that CPython ends code objects with says so.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_CODES_H
#define TRUEFLAME_NATIVE_PYTHON_CODES_H

#include "engines/native/children.h"
#include "engines/native/thread.h"

/* A thread's table of code objects, by their address. */
struct python_code_slot {
    uint64_t code;
    uint64_t function;                /* struct code_function */
    uint32_t beside;                  /* where a context has its slot for it, from the context on */
    uint32_t was_called;              /* calls of what is, or was, here are in python_calls.h */
    const struct python_lines *lines; /* at line detail */
};

#define PYTHON_CODE_SLOTS 4096

/* The site of (context, function) among the children. */
#define PYTHON_SITE (TRANSITION - 1)

void python_codes_init_thread(struct native_thread *thread);

/* The core was told of another frame: the next time, it will not be. */
void python_remember(struct native_thread *thread);

/* A code object dies. */
void python_forget(struct native_thread *thread, uint64_t code);

/* rax = the slot of the code in rcx */
void emit_code_slot(struct emitter *e);

#endif

/*
 * python_calls.h: the line detail of python_fast.c: the frame that comes next, known from the last
 * time that this line called it.
 *
 * Which context a frame runs in follows from the code object, the context of its caller, the function's
 * context below that and its steps to the lines (python_codes.h, children.h, python_line.h): five
 * places in memory, each found by the one before. Most calls find what they found before: the same
 * line calls the same code, which begins, or goes on if it is a generator's, at the same instruction.
 * So a thread has a table of such calls, one of which is in one line of the processor's cache, and is
 * known by what is at hand.
 *
 *     (context, code object, instruction pointer) -> the line's context, and where the line ends
 *
 * What it says stays true until the code object dies (python_codes.h).
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_CALLS_H
#define TRUEFLAME_NATIVE_PYTHON_CALLS_H

#include "core/python.h"
#include "engines/native/emit.h"
#include "engines/native/thread.h"

struct jumps;

/* Contexts are where four bytes can name them, or not remembered. */
struct python_call_slot {
    uint32_t from, called, line_context;
    uint32_t counts; /* as a call: a generator is called when it goes on, not when it is made */
    uint64_t code, pointer;
    const struct python_lines *lines; /* from here on as in python_place */
    void *steps;
    uint64_t line, line_end;
};

#define PYTHON_CALL_SLOTS 2048

void python_calls_init_thread(struct native_thread *thread);

/* From now on there is something to remember. */
void python_calls_begin(struct native_thread *thread);

/* A code object dies. */
void python_calls_forget(struct native_thread *thread, uint64_t code);

/* The evaluator is called for the frame in rsi: what is known of that is fetched, as it is asked for a
 * hundred instructions later. Loses rax and rcx. */
void emit_foresee_call(struct emitter *e, const struct python_layout *layout);

/* The frame in thread.target comes next, which is in rsi too if the evaluator `brings` it: if this is a
 * call that is known, the entry at rdx, one past the newest, has its place, the line that calls has what
 * ran, the call is counted, thread.counters are where it counts, and rax is the line's context. Else on
 * to `elsewhere`. Loses rax and rcx. */
void emit_known_call(struct emitter *e, const struct python_layout *layout, bool brings,
                     struct jumps *elsewhere);

/* It was not: the entry at rdx has its line now, thread.python_called and .python_line_context are its
 * contexts, of which the line's can be named by four bytes. Loses rax and rcx. */
void emit_remember_call(struct emitter *e, const struct python_layout *layout);

#endif

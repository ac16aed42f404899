/*
 * python_line.h: the line detail of python_fast.c: which context a Python frame runs in when its
 * instruction pointer has moved, without leaving the cache.
 *
 * That follows from three things (core/python.h, python_take_line): the context until now, the line
 * table of its code and how far the instruction pointer is in it. So a thread has a table of such
 * steps, which stay true for good: contexts and line tables are never given up, and which line table
 * a code object has is remembered with the code object (python_codes.h).
 *
 * Nearly all of them do not depend on the line that was, but on the function's context alone: it has
 * them by the number of the line's range in the line table, where contexts that make calls have the
 * slots of their children. That is the address of the line's context, in four bytes, 0 where it is
 * not known or does not fit: a function's are mostly in one line of the processor's cache, and what
 * else there is to know of a line is the line table's, which all contexts share. Why then the table:
 * instructions without a line go on with the line before them, and a context may have code of several
 * line tables.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_LINE_H
#define TRUEFLAME_NATIVE_PYTHON_LINE_H

#include "core/python.h"
#include "engines/native/emit.h"

/* Small, as a program makes many different steps. Line tables are pieces of the arena, 64 bytes at
 * least, and known by the middle of their addresses. Instruction pointers are less that of the code's
 * first instruction. */
struct python_line_slot {
    const struct context *from;
    struct context *context;
    uint32_t lines; /* their address >> PYTHON_LINES_SHIFT */
    uint32_t pointer, line,
        line_size; /* pointer and line are signed where pointers are addresses */
};

#define PYTHON_LINE_SLOTS  16384
#define PYTHON_LINES_SHIFT 6

void python_line_init_thread(struct native_thread *thread);

/* The thread makes this step now, by way of the core. */
void python_remember_line(struct native_thread *thread, struct context *from,
                          struct python_entry *entry);

/* rax = the instruction pointer of the frame at rdx + `offset`. */
void emit_line_pointer(struct emitter *e, const struct python_layout *layout, int offset);

/* The entry at rdx + `entry`, in whose place the code is known, has the instruction pointer in rax and
 * the context in rcx: takes its line, as hot does. rax = its context then; rdx in rcx. Not
 * remembered: nothing changed, on to `slow`. */
void emit_line_step(struct emitter *e, const struct python_layout *layout, int entry,
                    uint64_t slow);

/* hot has the line of the entry at rdx + `entry`; or none. On behind the event. */
void emit_line_watch(struct emitter *e, const struct python_layout *layout, int entry);
void emit_no_line(struct emitter *e);

/* The same for the new entry at rdx, which is also in thread.python_entry, of the frame in
 * thread.target and the function whose context is in rax and in thread.python_called. The line's
 * context is in thread.python_line_context then; rdx stays. */
void emit_line_first(struct emitter *e, const struct python_layout *layout, uint64_t slow);

/* PYTHON_LINE, see python_fast.h. */
void emit_line(struct emitter *e, const struct python_layout *layout, uint64_t slow);

/* The same where the program goes on, for the frame in register `frame`, which is not borrowed, whose
 * instruction pointer is an address and in register `pointer`; rax has been used since it was borrowed.
 * What is not known there: on to `elsewhere`, with nothing changed but that the line has what ran. */
struct jumps;
void emit_line_here(struct emitter *e, const struct python_layout *layout, unsigned frame,
                    unsigned pointer, struct jumps *elsewhere);

#endif

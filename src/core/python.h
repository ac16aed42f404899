/*
 * python.h: Python frames on the shadow stack, without touching the program.
 *
 * CPython keeps the frame that it executes in one word, which its evaluator writes: of the thread
 * state up to 3.10 and from 3.13 on, in between of a C frame that the thread state points to.
 * An engine looks at that word where it can have changed, in the blocks of the evaluator, and
 * tells when it is another frame. The core then steps down or up the tree: a Python frame is a
 * context below the evaluator's, whose function is the Python function and whose code is the
 * evaluator's.
 *
 *     call of the evaluator     python_enter            its first block
 *     word is another           python_frame_changed    before the next block is counted
 *     evaluator returns         python_leave            blocks that end so
 *
 * Where the evaluator makes the frame that it is called for current before it can fail, and the engine
 * sees the store that does so, that frame is told with the call: it runs from the evaluator's first
 * instruction on, and there is one change less. That is so of 3.11.
 *
 * What is the evaluator: python_evaluates() says it of a place. The word is at hot.python_word, and
 * differs from hot.python_frame when there is something to tell. Only the evaluator's own code
 * writes it, so it is enough to look after those stores that may hit it (a store relative to the
 * stack pointer where module->layout.has_c_frame, else one to an offset of layout.state_frame) and
 * where a call has come back; an engine may as well look at each block. Until the word's place is
 * known, while python_word_is_known() says no, it is found through the thread state.
 *
 * Lines, at line detail (core_options.python_lines): each line of a Python function that runs is a
 * context of its own below the function's, with a function of the flag CODE_FUNCTION_LINE,
 * and what runs for the line is counted there and below, blocks as ever. Which line it is, is what the interpreter itself
 * publishes (and would say in a traceback): the instruction pointer that it keeps in the frame, a
 * word or (layout.ip_bytes) half a word at hot.python_ip, seen through the code's line table. An
 * engine looks at it after each store to an offset of layout.frame_ip in the evaluator and calls
 * python_line_changed unless
 *
 *     *python_ip - hot.python_line < hot.python_line_size        (unsigned)
 *
 * Instructions after that store count for the new line, so blocks are cut there. When the profile
 * is read, lines are taken out of the tree again: they become rows of (context, line).
 * A Python function that is called hangs below its caller, not below the caller's line: otherwise a
 * recursion from two lines would double the tree with every level.
 *
 * Each stack has a list of the Python frames on it, oldest first. An activation of the evaluator
 * begins with a base entry, which stands for the evaluator itself; frames that the evaluator runs
 * without calling itself (from 3.11 on) follow in the same activation, known by the depth of the
 * shadow stack. Native frames in between need nothing: an entry of the shadow stack has the
 * context of its caller, Python frame and all.
 *
 *     depth      4: base a a'        9: base b        (a calls a', which sorts, which calls b)
 *
 * Which version it is and where things are comes from the program: a module is CPython's if it
 * has the evaluator, the runtime and the type of code objects as symbols. From 3.13 on the runtime
 * describes itself; before, a table does. A code object whose type is not CPython's code type is
 * never believed: it has no name, and no frame is shown for it; and if the first frame that is
 * seen has no such code, the layout is wrong for this interpreter and the watch ends (`checked`).
 *
 * Cost: a program that is not CPython pays nothing. A Python call costs two changes, each a few
 * reads of the program's memory.
 */
#ifndef TRUEFLAME_CORE_PYTHON_H
#define TRUEFLAME_CORE_PYTHON_H

#include "core/elf_functions.h"
#include "core/python_again.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct thread;
struct context;
struct code_module;
struct code_function;
struct code_place;

/* Offsets in CPython's structures. */
struct python_layout {
    uint16_t state_frame; /* thread state: current frame, or the C frame that has it */
    bool has_c_frame;
    uint16_t c_frame_frame; /* C frame: current frame */
    uint16_t frame_code;
    uint16_t frame_previous;
    uint16_t frame_owner;    /* 0: frames have none */
    uint16_t frame_is_entry; /* 0: frames do not say whether the evaluator was called for them */
    uint8_t shim_owner;      /* owners from this on are frames without Python code */
    uint16_t code_name;
    uint16_t code_qualified_name;
    uint16_t code_file;
    uint16_t code_line;
    uint16_t code_flags;
    uint16_t text_length;
    uint16_t text_state;
    uint8_t text_kind_shift; /* in the state word: kind (3 bits), compact, ascii */
    uint16_t text_ascii_bytes, text_compact_bytes; /* from the object to its characters */
    uint16_t frame_ip;                             /* frame: where it is in its code */
    uint8_t ip_bytes;                              /* 8: an address, 4: an offset */
    uint8_t ip_unit;                               /* what an offset counts, in bytes */
    uint8_t line_format;                           /* enum python_line_format */
    uint16_t code_line_table;                      /* code: the bytes object with the line table */
    uint16_t code_bytes;                           /* code: its first instruction */
};

/* How much is looked at of a frame, of a code object and of a text's head. */
#define PYTHON_FRAME_BYTES 80
#define PYTHON_CODE_BYTES  144
#define PYTHON_TEXT_BYTES  40

enum python_line_format { PYTHON_LINES_3_9, PYTHON_LINES_3_10, PYTHON_LINES_3_11 };

enum python_readiness {
    PYTHON_UNREAD,
    PYTHON_READY,
    PYTHON_UNKNOWN, /* no layout is known for this version */
    PYTHON_MISREAD, /* there is one, but the first frame is not as it says */
};

#define PYTHON_DATA_STRETCHES 4

/* What makes a module CPython. Addresses are in the module. */
struct python_module {
    struct code_module *module;
    uint64_t evaluator, runtime, code_type;
    uint64_t version; /* of Py_Version, from 3.11 on; 0: none */
    unsigned minor;   /* 3.minor */
    /* The tail-calling interpreter's instructions, which are functions of their own, as one
     * function; NULL: the evaluator has them all. */
    struct code_function *handlers;
    struct elf_stretch data[PYTHON_DATA_STRETCHES]; /* of the module */
    size_t data_count;
    enum python_readiness readiness;
    bool told;            /* the engine's: it was said that it cannot be watched */
    bool checked;         /* frames look as the layout says: see python_function_of */
    uint64_t word_depth;  /* how far below the caller's stack pointer the word is; 0: unknown */
    uint32_t stack_bytes; /* the engine's: how large the evaluator's C frame is; 0: unknown */
    uint64_t freer;       /* see python_freer; 0: nobody asked, or not known */
    struct python_layout layout;
};

/* Where a frame is in its source; all zero where lines are not asked for. */
struct python_place {
    const struct python_lines *lines; /* of its code */
    void *steps;                      /* the engine's own, of the context's plane */
    uint64_t line, line_end;          /* hot.python_line and .python_line_end */
    uint64_t first;                   /* the instruction pointer at the code's first instruction */
    uint64_t unused;                  /* pairs of words lie in one line of the processor's cache */
};

struct python_entry {
    uint64_t frame;          /* of a base: the frame below it */
    struct context *context; /* in which the frame runs; of a base the evaluator's */
    uint64_t depth;          /* of the shadow stack, in bytes */
    uint64_t state;          /* CPython's thread state */
    uint64_t word;           /* hot.python_word */
    bool base;
    struct python_place place;
};

/* The Python frames of a stack. In front of the oldest one is an entry that is deeper than any stack:
 * inline code that looks for an older one finds that. Of the stack that a thread runs on, inline code
 * says in hot.python_top alone how many there are: python_count_frames. */
struct python_frames {
    struct python_entry *items;
    size_t count, capacity;
};

void python_frames_release(struct python_frames *frames);

/* Brings thread->stack->python.count up to date. */
void python_count_frames(const struct core *core, struct thread *thread);

struct python_known_code;
struct python_texts;

/* In which context a frame of this code runs that is called in context `from`, at this instruction, and
 * its place. One line of the processor's cache. */
struct python_known_call {
    const struct context *from; /* NULL: none */
    uint64_t code;
    uint64_t pointer;         /* without lines, the frame's owner */
    struct context *function; /* that it counts as a call of; NULL: as none */
    struct context *context;
    const struct python_lines *lines;
    uint64_t line, line_end;
};

#define PYTHON_RECENT_BITS 12
#define PYTHON_CHILD_BITS  13
#define PYTHON_CALL_BITS   11
#define PYTHON_UNLINED     4096

/* What the core knows about the Pythons of a process. */
struct python {
    struct python_module *module;     /* whose evaluator ran last */
    struct python_known_code *codes;  /* by address */
    struct python_texts *texts;       /* room for names on their way here */
    struct code_function **functions; /* hash of name, file, line; of lines of file, line */
    size_t function_count, function_capacity;
    struct code_module **files; /* hash of path */
    size_t file_count, file_capacity;
    struct {
        const struct context *parent;
        const struct code_function *function;
        struct context *child;
    } children[1 << PYTHON_CHILD_BITS]; /* a cache: contexts of functions and lines */
    /* Another: 1 << PYTHON_CALL_BITS of them. NULL: the engine has its own, and asks for new ones only. */
    struct python_known_call *calls;
    uint64_t *path; /* frames on their way onto the list */
    size_t path_capacity;
    struct python_lines **lines; /* hash of function and line table */
    size_t lines_count, lines_capacity;
    struct {
        uint64_t code;
        struct python_lines *lines;
    } recent_lines[1 << PYTHON_RECENT_BITS]; /* by the code's address */
    /* By context number, PYTHON_UNLINED to a chunk: the same path without lines. */
    struct context ***unlined;
    size_t unlined_capacity;    /* chunks */
    uint64_t nowhere;           /* an instruction pointer for when there is no frame */
    struct python_entry nobody; /* and an entry, as deep as can be */
};

/* The engine tells of every call: what it was told of before is found at once. */
void python_keep_calls(struct python *python);
void python_forget_calls(struct python *python, uint64_t code);

/* Is it CPython? NULL if not. `image` is the file. */
struct python_module *python_recognise(struct code_module *module, const uint8_t *image,
                                       size_t size_bytes);

/* The offsets, once the program's memory is in place. False: this version is not known. */
bool python_prepare(struct python_module *module);

/* The function that frees code objects, an address of the program; 0 if it is not known yet. Who asks
 * calls python_code_freed each time that it begins, with its first argument: from then on nothing
 * that is known about a code object is read again. To be asked before any block of the module is
 * translated. */
uint64_t python_freer(struct python_module *module);
void python_code_freed(struct python *python, uint64_t code);

/* Why it cannot be watched: "PATH is CPython 3.8, which is not known here". */
#define PYTHON_SENTENCE_BYTES 1024
void python_say_why(const struct python_module *module, char *sentence);
/* And how it is recorded then. `record` will say it: whatever a process that the program made writes,
 * its maker may read. */
void python_note_why(struct core *core, const char *sentence, enum python_way way);

/* The CPython in whose evaluator the place is, or where that is entered; NULL if it is elsewhere. */
struct python_module *python_at(const struct code_place *place);

/* Does the watch apply to the code there? Its blocks are then the engine's to watch. */
bool python_evaluates(const struct python_module *module, const struct code_function *function);

/* The evaluator's function `from` jumps straight to `address` in `function`. If no symbol names that
 * and it is jumped into its middle, or it is the tail-calling interpreter, then it is a part of the
 * evaluator from there on: what is before that is another function's cold part. To be asked before
 * what is there is translated. */
void python_jumps_to(struct python_module *module, struct code_function *from,
                     const struct code_function *function, uint64_t address);

/* May an engine rely on hot.python_word? */
static inline bool python_word_is_known(const struct python_module *module)
{
    return !module->layout.has_c_frame || module->word_depth;
}

/* The evaluator was called for the thread with this thread state; its context is current. `called` is
 * the frame that it was called for, if it will be in the word before the engine looks there next: it runs
 * from now on. 0: it will be seen when it is in the word. */
void python_enter(struct core *core, struct thread *thread, struct python_module *module,
                  uint64_t state, uint64_t called);

/* The evaluator runs, and the frame that is current is not hot.python_frame. */
void python_frame_changed(struct core *core, struct thread *thread, uint64_t frame);

/* The instruction pointer of the running frame is out of its line. */
void python_line_changed(struct core *core, struct thread *thread);

/* For engines that find lines on their own: the context that a frame at `place` runs in when its
 * instruction pointer is `pointer` and it was in context `from`; fills in the place's line.
 * Instructions without a line of their own go on with the line before them. */
struct context *python_take_line(struct core *core, struct context *from,
                                 struct python_place *place, uint64_t pointer);
uint64_t python_instruction_pointer(const struct python_layout *layout, uint64_t frame);

/* Below which context the functions hang that are called in `context`: with the same path, but below
 * the Python function that it runs for rather than below one of its lines. */
struct context *python_calling(struct core *core, struct context *context);

/* As python_frame_changed and python_line_changed, if the word and the instruction pointer say so: for where the evaluator goes on
 * after code that was not known to be its own. */
void python_look(struct core *core, struct thread *thread);

/* The evaluator is about to return. */
void python_leave(struct core *core, struct thread *thread);

/* The stack of the thread is another: what was seen last there. */
void python_stack_loaded(struct core *core, struct thread *thread);

/* ---- python_code.c ---- */

struct python_frame;

/* The function that a frame executes; NULL for one that is not shown. `*starts` is false if the
 * frame is not of a call: it only makes a generator. */
struct code_function *python_function_of(struct python *python, const struct python_frame *frame,
                                         bool *starts);

/* The function that stands for a line of `function`: one for all functions of its file. It has no
 * name. */
struct code_function *python_line_function(struct python *python,
                                           const struct code_function *function, uint32_t line);

/* ---- python_lines.c ---- */

/* Where lines begin and end in a code object; kept for good, one for equal code. */
struct python_line_range {
    uint32_t start, end;            /* bytes from the first instruction */
    uint32_t line;                  /* 0: none of its own */
    struct code_function *function; /* of the line; NULL until it is asked for */
    /* The last context of that function that was at the line, and the line's below it: */
    const struct context *within;
    struct context *context;
};

/* The same as instruction pointers, from the code's first one on. */
struct python_line_bounds {
    uint64_t start, end;
};

struct python_lines {
    struct code_function *function;
    uint32_t table_bytes, range_count;
    uint8_t *table; /* as the program has it */
    struct python_line_range *ranges;
    struct python_line_bounds *bounds; /* of each */
    /* By instruction, two bytes each, from the one before the first on: which range it is in. Not of
     * all: code may be longer than its table says. */
    uint64_t range_of_count;
    uint16_t range_of[];
};

/* Of the code object at `code`, which `function` is. NULL if it cannot be read. */
struct python_lines *python_lines_of(struct python *python, uint64_t code,
                                     struct code_function *function);

/* The code object is no more. */
void python_lines_forget(struct python *python, uint64_t code);

/* Is the frame before its first instruction: one unit, or -1 of half a word? It is about to begin. */
static inline bool python_is_before(uint64_t offset)
{
    return offset >= UINT32_MAX / 2;
}

/* The range with this instruction; before the first one, the first. NULL: there is none. */
struct python_line_range *python_lines_search(const struct python_lines *lines, uint64_t offset);

static inline struct python_line_range *python_lines_find(const struct python_lines *lines,
                                                          uint64_t offset)
{
    const uint64_t instruction = offset / 2 + 1;

    return !(offset & 1) && instruction < lines->range_of_count
               ? &lines->ranges[lines->range_of[instruction]]
               : python_lines_search(lines, offset);
}

#endif

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
 *     word is another           python_frame_changed    each other block, before it is counted
 *     evaluator returns         python_leave            blocks that end so
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
 * never believed: it has no name, and no frame is shown for it.
 *
 * Cost: a program that is not CPython pays nothing. A Python call costs two changes, each a few
 * reads of the program's memory.
 */
#ifndef TRUEFLAME_CORE_PYTHON_H
#define TRUEFLAME_CORE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct thread;
struct context;
struct code_module;
struct code_function;

/* Offsets in CPython's structures. */
struct python_layout {
    uint16_t state_frame;    /* thread state: current frame, or the C frame that has it */
    bool has_c_frame;
    uint16_t c_frame_frame;  /* C frame: current frame */
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
};

enum python_readiness { PYTHON_UNREAD, PYTHON_READY, PYTHON_UNKNOWN };

/* What makes a module CPython. Addresses are in the module. */
struct python_module {
    struct code_module *module;
    uint64_t evaluator, runtime, code_type;
    uint64_t version;        /* of Py_Version, from 3.11 on; 0: none */
    unsigned minor;          /* 3.minor */
    enum python_readiness readiness;
    struct python_layout layout;
};

struct python_entry {
    uint64_t frame;          /* of a base: the frame below it */
    struct context *context; /* in which the frame runs; of a base the evaluator's */
    uint64_t depth;          /* of the shadow stack */
    uint64_t state;          /* CPython's thread state */
};

/* The Python frames of a stack. */
struct python_frames {
    struct python_entry *items;
    size_t count, capacity;
};

struct python_known_code;

/* What the core knows about the Pythons of a process. */
struct python {
    struct python_module *module;      /* whose evaluator ran last */
    struct python_known_code *codes;   /* by address */
    struct code_function **functions;  /* hash of name, file, line */
    size_t function_count, function_capacity;
    struct code_module **files;        /* hash of path */
    size_t file_count, file_capacity;
    uint64_t *path;                    /* frames on their way onto the list */
    size_t path_capacity;
};

/* Is it CPython? NULL if not. `image` is the file. */
struct python_module *python_recognise(struct code_module *module, const uint8_t *image,
                                       size_t size_bytes);

/* The offsets, once the program's memory is in place. False: this version is not known. */
bool python_prepare(struct python_module *module);

/* The evaluator was called for the thread with this thread state; its context is current. */
void python_enter(struct core *core, struct thread *thread, struct python_module *module,
                  uint64_t state);

/* The evaluator runs, and the frame that is current is not hot.python_frame. */
void python_frame_changed(struct core *core, struct thread *thread, uint64_t frame);

/* The evaluator is about to return. */
void python_leave(struct core *core, struct thread *thread);

/* The stack of the thread is another: what was seen last there. */
void python_stack_loaded(struct thread *thread);

/* ---- python_code.c ---- */

/* What a frame's memory says. */
struct python_frame {
    uint64_t previous;
    uint64_t code;
    unsigned owner;
    bool is_entry; /* the evaluator was called for it */
};

bool python_read_frame(const struct python_module *module, uint64_t address,
                       struct python_frame *frame);

/* The function that a frame executes; NULL for one that is not shown. `*starts` is false if the
 * frame is not of a call: it only makes a generator. */
struct code_function *python_function_of(struct python *python, const struct python_frame *frame,
                                         bool *starts);

#endif

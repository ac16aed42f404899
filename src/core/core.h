/*
 * core.h: what an engine and the core owe each other.
 *
 * The engine runs the program and knows the truth about its pc and stack pointer. The core keeps
 * the shadow stacks and the context tree. Engines do the common cases in their own inline code,
 * on the structures published here, and call the functions below for the rest:
 *
 *   call     push {return address, sp, current}; current = child      core_callee finds the child
 *   return   top entry has this target and sp: pop                    else core_return
 *   jump     indirect, and the frame may have been left               core_jump
 *   block    current->code is not the block's function                core_mismatch
 *   start    of a function that moves stacks about                    core_swap
 *   Python   see core/python.h
 *
 * Words: a *plane* is a tree of its own that counts go to. Plane 0 takes what runs while recording
 * is off, plane N+1 is part N of the recording. Starting, stopping, zeroing and dumping move the
 * running stacks to another plane, path and all, so nothing on the fast paths asks whether it is
 * recording, and a start in mid-stack finds the true path.
 *
 * A core belongs to one process. The engine makes sure that one thread at a time is inside it.
 */
#ifndef TRUEFLAME_CORE_H
#define TRUEFLAME_CORE_H

#include "core/code.h"
#include "core/counts.h"
#include "core/jit.h"
#include "core/python.h"
#include "core/tree.h"

/* ---- shadow stacks ---- */

/* One active call. `stack_pointer` is what the program's will be after an ordinary return. */
struct stack_entry {
    uint64_t return_address;
    uint64_t stack_pointer;
    struct context *context; /* of the caller: current again after the return */
    uint64_t code;           /* the engine's own: where the return goes on in translated code */
};

/* Return addresses no program has. For the bottom of a stack: */
#define STACK_BOTTOM_MARK 1u
/* For an interruption by a signal; hot.pending_site of that moment is in the other bits. */
#define STACK_SIGNAL_MARK ((uint64_t)1 << 63)
/* With its return address, for a call of a function that may return on another stack: core_swap. */
#define STACK_SWAP_MARK ((uint64_t)1 << 62)

/* What inline code touches; an engine has one for the running thread, or one per thread. */
struct hot {
    struct context *current;
    struct stack_entry *top;   /* one past the newest entry; there is always the bottom one */
    struct stack_entry *limit; /* top == limit: no room, core_grow_stack first */
    struct stack_entry *base;  /* of the stack: how deep it is */
    /* (newest entry's stack_pointer - 8 - sp), unsigned, above this: core_jump. Catches a stack
     * pointer above the frame and one that is suspiciously far below it in one comparison. */
    uint64_t reach;
    uint64_t pending_site; /* a call went into a PLT, whose callee is not known yet; else 0 */
    uint64_t instructions; /* a running count, where the engine keeps one */
    uint64_t block;        /* the engine's own: what is executing */
    uint64_t engine[2];
    uint64_t python_frame;     /* the frame that CPython executed when it was last looked at */
    uint64_t python_state;     /* its thread state: while the evaluator runs, readable memory */
    uint64_t python_word;      /* address of the word with the current frame, as above */
    uint64_t python_ip;        /* address of the frame's instruction pointer: readable memory */
    uint64_t python_line;      /* where the running line begins, as an instruction pointer, */
    uint64_t python_line_end;  /* and where it ends */
    uint64_t python_line_size; /* their difference, where the engine wants it */
    /* One past the newest Python entry of the stack, and where there is no room for another. */
    struct python_entry *python_top, *python_limit;
};

#define STACK_FIRST_REACH 8192

struct stack {
    struct stack_entry *base; /* base[0] is the bottom: its context is where the stack hangs */
    struct stack_entry *limit;
    struct hot saved;     /* current, top and pending_site while it is not running */
    uint64_t mapping_end; /* of the memory it lies in: two stacks that differ are two */
    uint32_t plane;
    bool for_signal;    /* the alternate stack of a handler; `interrupted` goes on after it */
    bool start_unknown; /* the first stack pointer is still to be seen */
    struct stack *interrupted;
    struct stack *next;           /* all stacks of the process */
    struct stack *next_suspended; /* in its hash bucket */
    bool suspended;
    bool displaced; /* another stack is where it was: it has moved, or is over */
    struct stack_entry
        *parked;               /* while suspended: the newest entry before a scheduler's, or NULL */
    struct stack *next_parked; /* in its hash bucket */
    struct python_frames python;    /* the Python frames on it */
    struct swapped_stacks *swapped; /* stacks that take turns with it, NULL for none */
};

struct thread {
    struct hot *hot; /* the engine's, while it runs; otherwise &own */
    struct hot own;
    struct stack *stack; /* the one it runs on */
    uint32_t number;     /* 1, 2, ... in order of creation */
    bool ended;
    /* Where it last unwound to: the function, and the top of the stack then. Only to compare. */
    const struct code_function *landed;
    const struct stack_entry *landed_top;
    struct thread *next;
};

/* ---- parts ---- */

struct part {
    const char *name;  /* what the dump was called; NULL for the one that is open */
    const char *label; /* texts given since the last dump, NULL for none */
    bool dropped;      /* zeroed: not written */
};

/* The plane of what a process inherited over a fork: not its own, neither recorded nor not. */
#define PLANE_INHERITED UINT32_MAX

/* A thread's root in a plane. */
struct plane_root {
    struct context *context;
    struct thread *thread;
    uint32_t plane;
};

/* ---- repairs: events that no ordinary call or return explains ---- */

enum repair {
    REPAIR_UNWIND, /* frames left at once: longjmp, exceptions */
    REPAIR_STACK_SWITCH,
    REPAIR_NEW_STACK,
    REPAIR_RETURN_AS_JUMP,   /* a `ret` that went to the start of a function or stayed in its own */
    REPAIR_UNMATCHED_RETURN, /* a `ret` nobody called for; the tree is in doubt from there */
    REPAIR_PYTHON,           /* Python frames taken anew from the interpreter */
    REPAIR_KINDS,
};

extern const char *const repair_names[REPAIR_KINDS];

/* ---- blocks, for the line detail ---- */

struct core_block {
    uint64_t address; /* absolute */
    struct code_module *module;
    uint32_t instructions;
    uint32_t shape;              /* a hash of address and lengths */
    uint32_t next;               /* in its bucket by shape */
    const uint8_t *lengths;      /* of each instruction, in bytes */
    uint64_t time;               /* anonymous code: when it was first seen */
    struct code_function *named; /* anonymous code: whose it is, if that came late */
};

/* ---- the whole ---- */

struct core_options {
    bool line_detail;
    bool python_lines; /* the engine tells where Python frames are: see core/python.h */
    bool keep_tail_calls;
    bool start_off;
    bool calls_push;     /* a call puts its return address on the stack, below the frame's end */
    bool tops_are_late;  /* other threads' hot.top is what it was when they last left their code */
    bool keeps_children; /* the engine remembers what calls led to, and does without core_call */
    uint32_t max_contexts; /* 0: no limit */
};

#define SUSPENDED_BUCKETS 4096

struct core {
    struct core_options options;
    struct code_map code;
    struct tree tree;
    struct counts counts;
    struct code_function *root_function;
    struct thread *threads;
    uint32_t thread_count;
    struct stack *stacks;
    struct stack *suspended[SUSPENDED_BUCKETS]; /* by the stack pointer of the newest entry */
    struct stack *parked[SUSPENDED_BUCKETS];    /* by that of stack.parked */
    bool stacks_move;                           /* the program has moved one: more is looked at */
    uint64_t pushed_places[64]; /* stack_pushed.c's own: that functions push to be returned to */
    struct plane_root *roots;
    uint32_t root_count, root_capacity;
    struct part *parts;
    uint32_t part_count, part_capacity;
    bool recording;
    uint32_t plane; /* where counts go now */
    uint64_t repairs[REPAIR_KINDS];
    uint64_t no_landing; /* the engine's own: `code` of entries that it did not push itself */
    struct python python;
    struct jit jit;
    struct core_block *blocks;
    uint32_t block_count, block_capacity;
    uint8_t *lengths; /* where those of the next block go */
    uint32_t lengths_left;
    uint32_t *block_buckets; /* as many as fit into block_bucket_mask */
    uint32_t block_bucket_mask;
    const char **skip_objects; /* asked for by the program */
    uint32_t skip_count, skip_capacity;
    const char **notes; /* what the user should be told */
    uint32_t note_count, note_capacity;
};

void core_init(struct core *core, const struct core_options *options);

/* A thread that is about to run its first instruction with this stack pointer. */
struct thread *core_thread_new(struct core *core, uint64_t stack_pointer);
void core_thread_end(struct core *core, struct thread *thread);

/* In the child of a fork: only `thread` goes on, costs start at zero, paths stay. */
void core_forked(struct core *core, struct thread *thread);

/* Before a thread runs again: brings its stack to the plane that counts go to now. */
void core_resume(struct core *core, struct thread *thread);

/* ---- slow paths ---- */

/* The context that a call from `site` to `target` enters. NULL: the target is a PLT;
 * hot.pending_site is set and current stays. The engine puts it into the tree's cache. */
struct context *core_callee(struct core *core, struct thread *thread, uint32_t site,
                            uint64_t target);

/* Likewise, of a function that is known to be what code_map_called finds at `target`. */
struct context *core_callee_of(struct core *core, struct thread *thread, uint32_t site,
                               struct code_function *function, uint64_t target);

/* Room for at least one more entry on the running stack; moves top and limit. */
void core_grow_stack(struct core *core, struct thread *thread);

/* Room for a stack as deep as the tree. A push goes with a step down the tree, so while each slow
 * path that may have deepened it ends with this, inline code can push without asking for room;
 * unless recursion is folded, when stacks get deeper than the tree. */
static inline void core_keep_room(struct core *core, struct thread *thread);

/* A return to `target`, or an indirect jump, that the inline test did not explain. Afterwards
 * current and top are right for the frame that goes on, except that the target may lie in
 * another function: core_mismatch at its first block sees to that. */
void core_return(struct core *core, struct thread *thread, uint64_t target, uint64_t sp);
void core_jump(struct core *core, struct thread *thread, uint64_t target, uint64_t sp);

/* A function begins of which code_function_swaps() is true: it may copy another stack to where this
 * one is, and return there (greenlets). What was called is the newest entry. See stack_swapped.c. */
void core_swap(struct core *core, struct thread *thread);

/* A block begins at `address` whose function is not current->code: a tail call, a fall-through,
 * the first block of a thread or handler, the callee behind a PLT. */
void core_mismatch(struct core *core, struct thread *thread, uint64_t address, uint64_t sp);

/* A handler for signal `number` is about to run; on another stack if `alternate`. */
void core_signal_in(struct core *core, struct thread *thread, unsigned number, uint64_t sp,
                    bool alternate);
/* The handler has returned, and the program goes on at `pc` with stack pointer `sp`, which are the
 * interrupted ones unless the handler changed them. sp 0: calls leave nothing on this stack. */
void core_signal_out(struct core *core, struct thread *thread, uint64_t pc, uint64_t sp);

/* A handler can make the program call a function, as Go does to take the processor from a
 * goroutine: it goes on at `pc`, and from there to `back`, with `sp`. Does nothing if that is not
 * what it looks like. core_signal_out sees to it where calls push return addresses. */
void core_called_by_handler(struct core *core, struct thread *thread, uint64_t pc, uint64_t back,
                            uint64_t sp);

/* What may lie on a stack beyond one entry for each level of the tree: calls that are pending in
 * PLTs, in handlers that interrupted each other. */
#define STACK_SLACK 64

static inline void core_keep_room(struct core *core, struct thread *thread)
{
    const struct stack *stack = thread->stack;

    while ((uint64_t)(stack->limit - stack->base) < core->tree.max_depth + STACK_SLACK)
        core_grow_stack(core, thread);
}

/* ---- whole calls and returns, for engines written in C ---- */

static inline void core_push(struct core *core, struct thread *thread, uint64_t return_address,
                             uint64_t sp)
{
    struct hot *hot = thread->hot;

    if (hot->top == hot->limit)
        core_grow_stack(core, thread);
    *hot->top++ = (struct stack_entry){.return_address = return_address,
                                       .stack_pointer = sp,
                                       .context = hot->current,
                                       .code = core->no_landing};
}

/* A call to what core_callee has found. */
static inline void core_call_found(struct core *core, struct thread *thread, struct context *child,
                                   uint64_t return_address, uint64_t sp)
{
    core_push(core, thread, return_address, sp);
    if (__builtin_expect(!child, 0))
        return;
    child->calls++;
    thread->hot->current = child;
}

static inline void core_call(struct core *core, struct thread *thread, uint32_t site,
                             uint64_t target, uint64_t return_address, uint64_t sp)
{
    struct hot *hot = thread->hot;
    uint64_t key = hot->current->key + site;
    struct tree_cache_entry *entry = tree_cache_slot(&core->tree, key + target);
    struct context *child = entry->child;

    if (__builtin_expect(entry->key != key || child->entry != target, 0)) {
        child = core_callee(core, thread, site, target);
        if (child)
            *entry = (struct tree_cache_entry){.key = key, .child = child};
    }
    core_call_found(core, thread, child, return_address, sp);
}

/* True if the newest entry explained the return. */
static inline bool core_return_fast(struct thread *thread, uint64_t target, uint64_t sp)
{
    struct hot *hot = thread->hot;
    const struct stack_entry *entry = hot->top - 1;

    if (__builtin_expect(entry->return_address != target || entry->stack_pointer != sp, 0))
        return false;
    hot->current = entry->context;
    hot->top--;
    return true;
}

/* A frame without code of its own under the current one, entered once: `ecall:NAME`. */
struct context *core_marker(struct core *core, struct thread *thread, uint32_t site,
                            const char *name);

/* ---- requests ---- */

void core_start(struct core *core);
void core_stop(struct core *core);
void core_zero(struct core *core);
/* "" for a name: the number of the part, from 1. */
void core_dump(struct core *core, const char *name);
void core_label(struct core *core, const char *text);
void core_skip_object(struct core *core, const char *pattern);

/* What something is called, and what is wrong with it: said once, after the run. */
void core_note(struct core *core, const char *name, const char *complaint);

/* ---- blocks ---- */

/* The number of the block, the same for the same code at the same address in the same module. */
uint32_t core_block(struct core *core, uint64_t address, struct code_module *module,
                    uint32_t instructions, const uint8_t *lengths);

#endif

/*
 * thread.h: what the engine knows of a thread of the program. gs points here, so code in the
 * cache reaches it without a register of the program's.
 *
 * While the thread runs in the cache, the program's registers are in the processor. When it
 * leaves (entry.S), they are put here, and `pc` is the program's address to go on at.
 */
#ifndef TRUEFLAME_NATIVE_THREAD_H
#define TRUEFLAME_NATIVE_THREAD_H

#include "core/core.h"
#include "engines/native/layout.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum register_numbers {
    REGISTER_RAX,
    REGISTER_RCX,
    REGISTER_RDX,
    REGISTER_RBX,
    REGISTER_RSP,
    REGISTER_RBP,
    REGISTER_RSI,
    REGISTER_RDI,
    REGISTER_R8,
    REGISTER_R9,
    REGISTER_R10,
    REGISTER_R11,
    REGISTER_R12,
    REGISTER_R13,
    REGISTER_R14,
    REGISTER_R15,
};

/* What the processor says of one. */
struct fault {
    uint64_t trap, error, address;
};

struct native_thread {
    struct native_thread *self;
    uint64_t registers[16];
    uint64_t flags;
    uint64_t pc;       /* the program's, where it goes on */
    uint64_t cache_pc; /* where the cache is entered next */
    uint32_t exit_id;  /* which exit was taken; row of cache.exits */
    uint32_t exit_unused;
    uint64_t target;     /* of the indirect branch that left the cache */
    uint64_t stack_top;  /* of the engine's stack for this thread */
    uint64_t exit_entry; /* where code in the cache leaves it */
    /* Executed, and calls made, since they were last settled into a context; while the thread is
     * in the cache, a vector register has them, and hot.top (vectors.h). */
    uint64_t instructions, calls;
    uint64_t pending;     /* number of the signal that is held, 0: none */
    uint64_t cache_entry; /* where the cache is entered, to go on at cache_pc */
    uint64_t in_cache;
    uint64_t leave; /* thread_leave_cache */
    int64_t lease;  /* turns.c: instructions it may still run before it must ask */
    int64_t lease_given;
    uint64_t spill[16];                    /* the program's register N while the cache borrows it */
    uint8_t vectors[VECTORS_BORROWED][64]; /* the program's registers that the cache has borrowed */
    uint64_t inner_entry; /* where the cache is entered in the middle of a sequence, at `code` */
    uint64_t leave_inner; /* thread_leave_inner */
    struct hot hot;       /* the core's view */
    /* leaves.c: the leaf that runs, or ran last */
    struct {
        uint64_t stack_pointer; /* once it has returned */
        uint64_t code;          /* where its return goes on in translated code; 0: it has a frame */
        uint32_t call;          /* exit of its call, if that code is gone */
    } leaf;
    /* In a vector register while in the cache; aligned, as the program may have asked for checks. */
    _Alignas(16) uint64_t leaf_instructions;
    uint64_t leaf_calls;
    bool in_leaf; /* out of the cache, at a state of the program */
    /* fast.c */
    uint64_t saved_flags;        /* lahf and seto, while the cache borrows the flags */
    struct child_slot *children; /* children.c */
    uint64_t child_mask;
    uint64_t children_left; /* to be remembered before more of the table is used, 0: all of it is */
    uint64_t code;          /* where an indirect branch, or a sequence, goes on */
    struct python_code_slot *python_codes; /* python_fast.c */
    struct python_call_slot *python_calls; /* python_calls.c */
    struct python_line_slot *python_lines; /* python_line.c */
    struct python_entry *python_entry;
    struct context *python_called, *python_line_context;
    /* lines.c; NULL at function detail. `counters`: the current context's. */
    struct line_slot *lines;
    uint64_t counters;
    struct thread *thread;      /* the core's */
    struct native_thread *next; /* all threads of the process */
    long tid;
    struct turn *turn; /* order.c; NULL: it has not asked yet */

    /* threads.c */
    uint32_t is_free;     /* the record may be used again */
    uint32_t generation;  /* of the cache, that it remembers addresses of */
    bool is_outside;      /* in a system call or waiting for its turn: in no code of the cache */
    bool ended;           /* the program's thread is over */
    bool plane_changed;   /* its stack is still to be moved */
    bool is_vfork;        /* another process, in this one's memory until it calls exec */
    bool clears_handlers; /* CLONE_CLEAR_SIGHAND */
    struct native_thread *lender; /* vfork: whose call path it goes on in */
    struct stack *lent_stack;     /* and what that was like */
    struct stack_entry *lent_entries;
    size_t lent_count;
    bool is_traced; /* it asked its parent to trace it */
    bool is_strict; /* seccomp.c */
    const struct filter *filters;
    uint64_t forks; /* how many children it made by fork */

    /* signals.c */
    struct action *actions; /* by signal number; shared as the kernel shares them */
    uint64_t signal_stack;  /* the engine's own */
    uint64_t held_mask;     /* the program's mask while a signal is held */
    uint64_t held_info[16]; /* siginfo_t */
    struct fault raised;    /* the last that the engine made */
    unsigned delivered;     /* the last signal whose handler was entered */
    bool blocks_faults;     /* the kernel's mask does: gate_copy asks */
    struct {
        uint64_t start, size; /* size 0: none */
        uint32_t flags;       /* SS_AUTODISARM */
    } alternate;              /* the program's sigaltstack */
};

_Static_assert(offsetof(struct native_thread, registers) == THREAD_REGISTERS, "layout.h");
_Static_assert(offsetof(struct native_thread, instructions) % 16 == 0, "an aligned pair");
_Static_assert(offsetof(struct context, self_instructions) % 16 == 0, "an aligned pair");
_Static_assert(offsetof(struct native_thread, flags) == THREAD_FLAGS, "layout.h");
_Static_assert(offsetof(struct native_thread, pc) == THREAD_PC, "layout.h");
_Static_assert(offsetof(struct native_thread, cache_pc) == THREAD_CACHE_PC, "layout.h");
_Static_assert(offsetof(struct native_thread, exit_id) == THREAD_EXIT_ID, "layout.h");
_Static_assert(offsetof(struct native_thread, target) == THREAD_TARGET, "layout.h");
_Static_assert(offsetof(struct native_thread, stack_top) == THREAD_STACK, "layout.h");
_Static_assert(offsetof(struct native_thread, exit_entry) == THREAD_EXIT_ENTRY, "layout.h");
_Static_assert(offsetof(struct native_thread, instructions) == THREAD_INSTRUCTIONS, "layout.h");
_Static_assert(offsetof(struct native_thread, pending) == THREAD_PENDING, "layout.h");
_Static_assert(offsetof(struct native_thread, cache_entry) == THREAD_CACHE_ENTRY, "layout.h");
_Static_assert(offsetof(struct native_thread, spill) == THREAD_SPILL, "layout.h");
_Static_assert(offsetof(struct native_thread, inner_entry) == THREAD_INNER_ENTRY, "layout.h");

#define ENGINE_STACK_BYTES (256ul << 10)

static inline struct native_thread *thread_self(void)
{
    struct native_thread *self;
    __asm__("mov %%gs:0, %0" : "=r"(self));
    return self;
}

/* entry.S */
_Noreturn void
thread_resume(struct native_thread *thread); /* by its registers, flags and cache_pc */
extern const char thread_resume_flags[], thread_resume_end[];
void thread_leave_cache(void); /* the cache jumps here; calls thread_dispatch */
void thread_leave_inner(void); /* likewise, with rax, rcx and rdx spilled; thread_dispatch_inner */
extern const char thread_return_inner[], thread_return_inner_flags[], thread_return_inner_end[];

/* dispatch.c: the exit that was taken is dealt with; returns where to enter the cache. */
uint64_t thread_dispatch(struct native_thread *thread);

/* For an exit in the middle of a sequence, which then goes on at thread.code. */
void thread_dispatch_inner(struct native_thread *thread);

/* Brings the current context in line with thread->pc; the cache address to go on at. The cache's
 * lock is held. */
uint64_t thread_enter(struct native_thread *thread);

/* Likewise; the block. */
struct block *thread_enter_block(struct native_thread *thread);

/* Enters the cache at thread->pc. */
_Noreturn void thread_start(struct native_thread *thread);

void thread_set_gs(struct native_thread *thread);

#endif

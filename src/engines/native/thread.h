/*
 * thread.h: what the engine knows of a thread of the program. gs points here, so code in the
 * cache reaches it without a register of the program's.
 *
 * While the thread runs in the cache, the program's registers are in the processor. When it
 * leaves (entry.S), they are put here, and `pc` is the program's address to go on at.
 */
#ifndef TRUEFLAME_NATIVE_THREAD_H
#define TRUEFLAME_NATIVE_THREAD_H

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

struct thread {
    struct thread *self;
    uint64_t registers[16];
    uint64_t flags;
    uint64_t pc;           /* the program's, where it goes on */
    uint64_t cache_pc;     /* where the cache is entered next */
    uint32_t exit_id;      /* which exit was taken; row of cache.exits */
    uint32_t exit_unused;
    uint64_t target;       /* of the indirect branch that left the cache */
    uint64_t stack_top;    /* of the engine's stack for this thread */
    void (*exit_entry)(void);
    uint64_t instructions; /* executed so far */
    uint64_t pending;      /* a signal waits to be delivered */
    uint64_t reserved[6];
    uint64_t spill[16];    /* the program's register N while the cache borrows it */
};

_Static_assert(offsetof(struct thread, registers) == THREAD_REGISTERS, "layout.h");
_Static_assert(offsetof(struct thread, flags) == THREAD_FLAGS, "layout.h");
_Static_assert(offsetof(struct thread, pc) == THREAD_PC, "layout.h");
_Static_assert(offsetof(struct thread, cache_pc) == THREAD_CACHE_PC, "layout.h");
_Static_assert(offsetof(struct thread, exit_id) == THREAD_EXIT_ID, "layout.h");
_Static_assert(offsetof(struct thread, target) == THREAD_TARGET, "layout.h");
_Static_assert(offsetof(struct thread, stack_top) == THREAD_STACK, "layout.h");
_Static_assert(offsetof(struct thread, exit_entry) == THREAD_EXIT_ENTRY, "layout.h");
_Static_assert(offsetof(struct thread, instructions) == THREAD_INSTRUCTIONS, "layout.h");
_Static_assert(offsetof(struct thread, pending) == THREAD_PENDING, "layout.h");
_Static_assert(offsetof(struct thread, spill) == THREAD_SPILL, "layout.h");

#define ENGINE_STACK_BYTES (256ul << 10)

static inline struct thread *thread_self(void)
{
    struct thread *self;
    __asm__("mov %%gs:0, %0" : "=r"(self));
    return self;
}

/* entry.S */
_Noreturn void thread_resume(struct thread *thread); /* by its registers, flags and cache_pc */
void thread_leave_cache(void);                       /* the cache jumps here; calls thread_dispatch */

/* dispatch.c: the exit that was taken is dealt with; returns where to enter the cache. */
uint64_t thread_dispatch(struct thread *thread);

struct thread *thread_new(void);

#endif

/*
 * signal_frames.h: the frames that the kernel would have put on the program's stack for a handler, and
 * the alternate stack they may be on.
 */
#ifndef TRUEFLAME_NATIVE_SIGNAL_FRAMES_H
#define TRUEFLAME_NATIVE_SIGNAL_FRAMES_H

#include "engines/native/thread.h"
#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <asm/ucontext.h>

#define FLAG_TRAP     0x100u
#define SS_AUTODISARM (1u << 31)

struct frame {
    uint64_t return_address;
    struct ucontext context;
    siginfo_t info;
};

/* The registers and flags, between a thread and a frame. */
void registers_from_frame(struct native_thread *thread, const struct sigcontext *from);
void registers_to_frame(const struct native_thread *thread, struct sigcontext *to);

/* Does the stack pointer point into the program's alternate stack? */
bool on_alternate(const struct native_thread *thread, uint64_t sp);
/* A handler returns: the alternate stack is what it was, or what the handler has made of that. */
void alternate_from_frame(struct native_thread *thread, const stack_t *from);

/* What is put on the program's stack for a handler, besides what the kernel has put on the engine's. */
struct frame_plan {
    uint64_t restorer; /* what the handler returns to */
    uint64_t mask;     /* to be put back then */
    bool switches;     /* to the alternate stack */
};

/* Writes the frame the kernel would have written; false if the program's stack has no room. */
bool put_frame(struct native_thread *thread, const struct frame_plan *plan, const siginfo_t *info,
               const struct ucontext *kernel, uint64_t *frame_at);

#endif

/* signal_frames.c: see signal_frames.h. */
#include "engines/native/signal_frames.h"
#include "engines/native/gate.h"
#include "engines/native/signals.h"
#include "engines/native/text.h"
#include <errno.h>

#define SS_ONSTACK 1 /* asm/signal.h has not got them */
#define SS_DISABLE 2

void registers_from_frame(struct native_thread *thread, const struct sigcontext *from)
{
    const uint64_t values[16] = {
        from->rax, from->rcx, from->rdx, from->rbx, from->rsp, from->rbp, from->rsi, from->rdi,
        from->r8,  from->r9,  from->r10, from->r11, from->r12, from->r13, from->r14, from->r15,
    };
    memcpy(thread->registers, values, sizeof values);
    thread->flags = from->eflags;
}

void registers_to_frame(const struct native_thread *thread, struct sigcontext *to)
{
    const uint64_t *r = thread->registers;
    to->rax = r[0], to->rcx = r[1], to->rdx = r[2], to->rbx = r[3];
    to->rsp = r[4], to->rbp = r[5], to->rsi = r[6], to->rdi = r[7];
    to->r8 = r[8], to->r9 = r[9], to->r10 = r[10], to->r11 = r[11];
    to->r12 = r[12], to->r13 = r[13], to->r14 = r[14], to->r15 = r[15];
    to->eflags = thread->flags;
}

bool on_alternate(const struct native_thread *thread, uint64_t sp)
{
    return sp - thread->alternate.start <= thread->alternate.size - 1 && thread->alternate.size;
}

static size_t vector_state_bytes(const struct sigcontext *context)
{
    if (!context->fpstate)
        return 0;
    const struct _fpx_sw_bytes *sw = &((const struct _fpstate_64 *)context->fpstate)->sw_reserved;
    return sw->magic1 == FP_XSTATE_MAGIC1 ? sw->extended_size : 512;
}

static void fill_alternate(struct native_thread *thread, stack_t *out, uint64_t sp)
{
    out->ss_sp = (void *)thread->alternate.start;
    out->ss_size = thread->alternate.size;
    out->ss_flags = thread->alternate.flags;
    if (!thread->alternate.size)
        out->ss_flags |= SS_DISABLE;
    else if (on_alternate(thread, sp))
        out->ss_flags |= SS_ONSTACK;
}

void alternate_from_frame(struct native_thread *thread, const stack_t *from)
{
    if (from->ss_flags & SS_DISABLE) {
        thread->alternate.size = 0;
        return;
    }
    thread->alternate.start = (uint64_t)from->ss_sp;
    thread->alternate.size = from->ss_size;
    thread->alternate.flags = from->ss_flags & SS_AUTODISARM;
}

bool put_frame(struct native_thread *thread, const struct frame_plan *plan, const siginfo_t *info,
               const struct ucontext *kernel, uint64_t *frame_at)
{
    uint64_t interrupted = thread->registers[REGISTER_RSP], sp = interrupted;
    sp = plan->switches ? thread->alternate.start + thread->alternate.size : sp - 128;
    size_t vector_bytes = vector_state_bytes(&kernel->uc_mcontext);
    uint64_t vector_at = (sp - vector_bytes) & -64ul;
    uint64_t at = ((vector_at - sizeof(struct frame)) & -16ul) - 8;
    struct frame frame = {.return_address = plan->restorer, .context = *kernel, .info = *info};
    registers_to_frame(thread, &frame.context.uc_mcontext);
    frame.context.uc_mcontext.rip = thread->pc;
    frame.context.uc_mcontext.eflags &= ~FLAG_TRAP;
    frame.context.uc_mcontext.fpstate = vector_bytes ? (void *)vector_at : NULL;
    memcpy(&frame.context.uc_sigmask, &plan->mask, 8);
    fill_alternate(thread, &frame.context.uc_stack, interrupted);
    if (vector_bytes && !gate_copy((void *)vector_at, kernel->uc_mcontext.fpstate, vector_bytes))
        return false;
    *frame_at = at;
    return gate_copy((void *)at, &frame, sizeof frame);
}

long signals_call_stack(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t sp = r[REGISTER_RSP];
    stack_t new_stack, old_stack = {0};
    if (r[REGISTER_RDI] && !gate_copy(&new_stack, (void *)r[REGISTER_RDI], sizeof new_stack))
        return -EFAULT;
    fill_alternate(thread, &old_stack, sp);
    if (r[REGISTER_RDI]) {
        uint32_t mode = new_stack.ss_flags & ~SS_AUTODISARM;
        if (on_alternate(thread, sp))
            return -EPERM;
        if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK)
            return -EINVAL;
        if (mode != SS_DISABLE && new_stack.ss_size < MINSIGSTKSZ)
            return -ENOMEM;
        thread->alternate.start = mode == SS_DISABLE ? 0 : (uint64_t)new_stack.ss_sp;
        thread->alternate.size = mode == SS_DISABLE ? 0 : new_stack.ss_size;
        thread->alternate.flags = new_stack.ss_flags & SS_AUTODISARM;
    }
    if (r[REGISTER_RSI] && !gate_copy((void *)r[REGISTER_RSI], &old_stack, sizeof old_stack))
        return -EFAULT;
    return 0;
}

/* signals.c: see signals.h. */
#include "engines/native/signals.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/fast.h"
#include "engines/native/gate.h"
#include "engines/native/leaves.h"
#include "engines/native/maps.h"
#include "engines/native/python_fast.h"
#include "engines/native/record.h"
#include "engines/native/signal_frames.h"
#include "engines/native/stopped.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/translate.h"
#include "engines/native/threads.h"
#include "engines/native/turns.h"
#include <errno.h>
#include <sys/mman.h>

#define SIGNAL_COUNT       65
#define SIGNAL_STACK_BYTES (128ul << 10)
#define FLAGS_AT_HANDLER   (0x100u | 0x400u | 0x10000u) /* TF, DF, RF: clear */
#define BIT(number)        (1ul << ((number)-1))

/* The processor's own numbers of faults, and what its word about one that a page caused says. */
enum { TRAP_OPCODE = 6, TRAP_PROTECTION = 13, TRAP_PAGE = 14 };
enum { ERROR_PRESENT = 1, ERROR_USER = 4, ERROR_FETCH = 16 };

/* struct sigaction of the kernel. */
struct action {
    uint64_t handler;
    uint64_t flags;
    uint64_t restorer;
    uint64_t mask;
};

struct lock actions_lock;

/* Signals that a fault raises: never blocked while the engine holds another. */
static const uint64_t faults =
    BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP);

static void handle(int number, siginfo_t *info, struct ucontext *context);

/* ---- what the kernel is told ---- */

static bool ends_by_default(unsigned number)
{
    switch (number) {
    case SIGCHLD:
    case SIGCONT:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGURG:
    case SIGWINCH:
    case SIGKILL:
        return false;
    default:
        return true;
    }
}

static bool needs_handler(unsigned number, const struct action *action)
{
    if (action->handler == (uint64_t)SIG_IGN)
        return BIT(number) & faults;
    return action->handler != (uint64_t)SIG_DFL || ends_by_default(number);
}

static long install(unsigned number, const struct action *wanted)
{
    struct action ours = *wanted;
    if (needs_handler(number, wanted)) {
        const uint64_t theirs = SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT;
        ours.handler = (uint64_t)handle;
        ours.flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER | (wanted->flags & theirs);
        ours.restorer = (uint64_t)gate_signal_return;
        ours.mask = ~(BIT(SIGSEGV) | BIT(SIGBUS));
    }
    return sys(rt_sigaction, number, &ours, NULL, 8);
}

/* While the program blocks faults, one of the engine's own would end the process. */
static void mask_is(struct native_thread *thread, uint64_t mask)
{
    thread->blocks_faults = mask & (BIT(SIGSEGV) | BIT(SIGBUS));
}

/* A signal that comes meanwhile is held, with the mask that it found. */
static void look_at_mask(struct native_thread *thread)
{
    uint64_t mask = 0;
    sys(rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
    mask_is(thread, thread->pending ? thread->held_mask : mask);
}

uint64_t signals_set_mask(uint64_t mask)
{
    uint64_t old;
    sys(rt_sigprocmask, SIG_SETMASK, &mask, &old, 8);
    mask_is(thread_self(), mask);
    return old;
}

struct action *signals_new_actions(const struct native_thread *from)
{
    struct action *actions = arena_allocate(SIGNAL_COUNT * sizeof *actions);
    if (from)
        return memcpy(actions, from->actions, SIGNAL_COUNT * sizeof *actions);
    for (unsigned number = 1; number < SIGNAL_COUNT; number++)
        sys(rt_sigaction, number, NULL, &actions[number], 8);
    return actions;
}

void signals_clear_actions(struct native_thread *thread)
{
    for (unsigned number = 1; number < SIGNAL_COUNT; number++)
        if (thread->actions[number].handler != (uint64_t)SIG_IGN)
            thread->actions[number] = (struct action){0};
}

void signals_install_all(struct native_thread *thread)
{
    for (unsigned number = 1; number < SIGNAL_COUNT; number++)
        if (needs_handler(number, &thread->actions[number]) && number != SIGKILL &&
            number != SIGSTOP)
            install(number, &thread->actions[number]);
}

void signals_init_thread(struct native_thread *thread)
{
    if (!thread->signal_stack)
        thread->signal_stack = (uint64_t)arena_allocate(SIGNAL_STACK_BYTES);
    stack_t stack = {.ss_sp = (void *)thread->signal_stack, .ss_size = SIGNAL_STACK_BYTES};
    sys(sigaltstack, &stack, NULL);
    look_at_mask(thread);
}

_Noreturn void signals_die(unsigned number)
{
    struct action action = {0};
    sys(rt_sigaction, number, &action, NULL, 8);
    sys(tgkill, sys(getpid), sys(gettid), number);
    signals_set_mask(~BIT(number));
    for (;;)
        sys(exit_group, 128 + number);
}

/* ---- delivery ---- */

_Noreturn static void end_by_signal(unsigned number)
{
    struct native_thread *thread = thread_self();
    if (thread->is_vfork)
        threads_give_all(thread);
    else
        record_finish(128 + number);
    signals_die(number);
}

/* The thread's state is the program's; makes it that of the handler's first instruction. The
 * kernel's context returns to the cache afterwards. The cache's lock is held. */
static void deliver(struct native_thread *thread, unsigned number, siginfo_t *info,
                    struct ucontext *kernel, uint64_t mask)
{
    struct action action = thread->actions[number];
    if (thread->in_leaf)
        leaves_make_frame(thread, false);
    record_settle(thread);
    if (action.handler == (uint64_t)SIG_DFL ||
        (action.handler == (uint64_t)SIG_IGN && (BIT(number) & faults) && info->si_code > 0))
        end_by_signal(number);
    if (action.handler == (uint64_t)SIG_IGN)
        goto resume;
    if (action.flags & SA_RESETHAND) {
        thread->actions[number].handler = (uint64_t)SIG_DFL;
        install(number, &thread->actions[number]);
    }
    uint64_t interrupted = thread->registers[REGISTER_RSP], frame;
    bool switches =
        (action.flags & SA_ONSTACK) && thread->alternate.size && !on_alternate(thread, interrupted);
    const struct frame_plan plan = {action.restorer, mask, switches};
    if (!put_frame(thread, &plan, info, kernel, &frame))
        end_by_signal(SIGSEGV);
    if (switches && (thread->alternate.flags & SS_AUTODISARM))
        thread->alternate.size = 0;
    mask |= action.mask;
    if (!(action.flags & SA_NODEFER))
        mask |= BIT(number);
    core_signal_in(&core, thread->thread, number, interrupted, switches);
    thread->delivered = number;
    uint64_t *r = thread->registers;
    r[REGISTER_RAX] = 0;
    r[REGISTER_RDI] = number;
    r[REGISTER_RSI] = frame + offsetof(struct frame, info);
    r[REGISTER_RDX] = frame + offsetof(struct frame, context);
    r[REGISTER_RSP] = frame;
    thread->flags &= ~(uint64_t)FLAGS_AT_HANDLER;
    thread->pc = action.handler;
resume:
    registers_to_frame(thread, &kernel->uc_mcontext);
    thread->cache_pc = thread_enter(thread);
    fast_leave_by(thread, true); /* what is in the frame was not looked at */
    kernel->uc_mcontext.rip = thread->cache_entry;
    memcpy(&kernel->uc_sigmask, &mask, 8);
    mask_is(thread, mask);
}

/* Keeps the signal until the thread is at a state of the program. */
static void hold(struct native_thread *thread, unsigned number, const siginfo_t *info,
                 struct ucontext *kernel)
{
    thread->pending = number;
    memcpy(thread->held_info, info, sizeof *info);
    memcpy(&thread->held_mask, &kernel->uc_sigmask, 8);
    uint64_t blocked = ~faults;
    memcpy(&kernel->uc_sigmask, &blocked, 8);
}

/* A held signal goes back to the kernel, to come again when it may. */
static void send_again(struct native_thread *thread)
{
    unsigned number = thread->pending;
    thread->pending = 0;
    sys(rt_tgsigqueueinfo, sys(getpid), thread->tid, number, thread->held_info);
}

static bool is_fault(unsigned number, const siginfo_t *info)
{
    return (BIT(number) & faults) && info->si_code > 0;
}

/* Of a timer that will send another. */
static bool is_tick(unsigned number, const siginfo_t *info)
{
    int64_t timer[4] = {0}; /* the interval first, then what is left of it */
    if (info->si_code == SI_TIMER)
        sys(timer_gettime, info->si_tid, timer);
    else if (info->si_code == SI_KERNEL && number == SIGALRM)
        sys(getitimer, 0 /* ITIMER_REAL */, timer);
    return timer[0] || timer[1];
}

/* A timer whose handler takes longer here than its period has sent the next signal before the
 * thread runs an instruction after the handler: it would never get on. That tick is left out, as the
 * kernel leaves out those that come while one is pending. */
static bool starves(const struct native_thread *thread, unsigned number, const siginfo_t *info,
                    uint64_t cache_pc)
{
    return cache_pc == thread->cache_entry && !thread->pending && thread->delivered == number &&
           is_tick(number, info);
}

static void handle_in_cache(struct native_thread *thread, unsigned number, siginfo_t *info,
                            struct ucontext *kernel)
{
    struct sigcontext *context = &kernel->uc_mcontext;
    bool stepped = thread->pending && number == SIGTRAP && info->si_code == 2 /* TRAP_TRACE */;
    uint64_t cache_pc = context->rip, mask;
    memcpy(&mask, &kernel->uc_sigmask, 8);
    if (starves(thread, number, info, cache_pc))
        return;
    lock_take(&cache.lock);
    bool of_memory = (number == SIGSEGV || number == SIGBUS) && is_fault(number, info);
    if (of_memory && recover_from_check(context)) {
        lock_give(&cache.lock);
        return;
    }
    fast_finish_entry(thread, context);
    if (!take_program_state(thread, context, !stepped && is_fault(number, info))) {
        if (!stepped && thread->pending) {
            send_again(thread);
            memcpy(&kernel->uc_sigmask, &thread->held_mask, 8);
        }
        if (!stepped)
            hold(thread, number, info, kernel);
        context->eflags |= FLAG_TRAP;
        lock_give(&cache.lock);
        return;
    }
    thread->flags &= ~(uint64_t)FLAG_TRAP;
    if (stepped) {
        number = thread->pending;
        memcpy(info, thread->held_info, sizeof *info);
        mask = thread->held_mask;
        thread->pending = 0;
    } else if (thread->pending) {
        mask = thread->held_mask;
        send_again(thread);
    }
    if (is_fault(number, info) && info->si_addr == (void *)cache_pc)
        info->si_addr = (void *)thread->pc;
    deliver(thread, number, info, kernel, mask);
    lock_give(&cache.lock);
}

/* At the safe point the program's state is in the thread. */
static void handle_at_safe_point(struct native_thread *thread, unsigned number, siginfo_t *info,
                                 struct ucontext *kernel)
{
    struct sigcontext *context = &kernel->uc_mcontext;
    thread->pending = 0;
    lock_take(&cache.lock);
    if (is_fault(number, info)) {
        context->trapno = thread->raised.trap;
        context->err = thread->raised.error;
        context->cr2 = thread->raised.address;
    }
    deliver(thread, number, info, kernel, thread->held_mask);
    lock_give(&cache.lock);
}

static bool returns_inner(uint64_t pc)
{
    return pc >= (uint64_t)thread_return_inner && pc < (uint64_t)thread_return_inner_end;
}

/* The thread is on its way into the cache and has looked for held signals already. */
static void trap_on_entry(struct native_thread *thread, struct sigcontext *context)
{
    if (returns_inner(context->rip)) {
        if (context->rip <= (uint64_t)thread_return_inner_flags)
            *(uint64_t *)context->rsp |= FLAG_TRAP;
        context->eflags |= FLAG_TRAP;
        return;
    }
    thread->flags |= FLAG_TRAP;
    if (context->rip == (uint64_t)thread_resume_flags)
        *(uint64_t *)context->rsp |= FLAG_TRAP;
    if (context->rip > (uint64_t)thread_resume_flags)
        context->eflags |= FLAG_TRAP;
}

static void handle(int number, siginfo_t *info, struct ucontext *kernel)
{
    /* The program may have asked for alignment checks, which the kernel leaves on. */
    __asm__ volatile("pushfq; andl $~0x40000, (%%rsp); popfq" : : : "cc", "memory");
    struct native_thread *thread = thread_self();
    struct sigcontext *context = &kernel->uc_mcontext;
    uint64_t pc = context->rip;
    if (number == SIGSEGV && is_fault(number, info) && python_fast_recover(context))
        return;
    if (pc >= CACHE_START && pc < CACHE_START + CACHE_SIZE) {
        handle_in_cache(thread, number, info, kernel);
        return;
    }
    if (gate_is_safe_point(pc)) {
        handle_at_safe_point(thread, number, info, kernel);
        return;
    }
    bool enters =
        (pc >= (uint64_t)thread_resume && pc < (uint64_t)thread_resume_end) || returns_inner(pc);
    if (enters && number == SIGTRAP && info->si_code == 2 && thread->pending)
        return; /* stepping on, into the cache */
    context->eflags &= ~(uint64_t)FLAG_TRAP;
    if (number == SIGTRAP && info->si_code == 2 && thread->pending)
        return; /* stepped out of the cache */
    if (is_fault(number, info)) {
        if (gate_recover(context))
            return;
        char text[64];
        struct string_builder builder = {text, 0, sizeof text};
        string_add_number(&builder, number, 10);
        string_add(&builder, " at 0x");
        string_add_number(&builder, pc, 16);
        fail("the engine itself got signal ", text, NULL);
    }
    gate_take_back(context);
    hold(thread, number, info, kernel);
    if (enters)
        trap_on_entry(thread, context);
}

void signals_safe_point(struct native_thread *thread)
{
    while (thread->pending) {
        /* It is delivered though the program's mask may block it: one that ends sigsuspend or ppoll
         * comes with the mask that is to be put back. */
        uint64_t all_others = SIGNALS_ALL & ~BIT(thread->pending);
        signals_set_mask(SIGNALS_ALL);
        send_again(thread);
        gate_unblock(&all_others);
        signals_set_mask(thread->held_mask); /* the program ignores it by now */
    }
}

/* ---- faults of instruction fetch ---- */

bool signals_raise(struct native_thread *thread, const void *siginfo)
{
    const siginfo_t *info = siginfo;
    if (thread->pending)
        send_again(thread);
    else
        thread->held_mask = signals_set_mask(~faults);
    if ((thread->held_mask & BIT(info->si_signo)) ||
        thread->actions[info->si_signo].handler == (uint64_t)SIG_IGN)
        return false;
    thread->pending = info->si_signo;
    memcpy(thread->held_info, info, sizeof *info);
    return true;
}

static void raise_fault(struct native_thread *thread, unsigned number, int code, struct fault fault)
{
    siginfo_t info = {.si_signo = number, .si_code = code};
    info.si_addr = (void *)fault.address;
    thread->raised = fault;
    if (!signals_raise(thread, &info)) /* a fault that is blocked ends the process */
        end_by_signal(number);
}

void signals_raise_illegal(struct native_thread *thread)
{
    raise_fault(thread, SIGILL, 2 /* ILL_ILLOPN */, (struct fault){TRAP_OPCODE, 0, thread->pc});
}

void signals_raise_fetch(struct native_thread *thread, uint64_t missing)
{
    struct mapping mapping;
    /* What should be there is being unmapped. */
    bool present = maps_find(missing, &mapping) && !(mapping.protection & PROT_EXEC);
    uint64_t error = ERROR_USER | ERROR_FETCH | (present ? ERROR_PRESENT : 0);
    raise_fault(thread, SIGSEGV, present ? SEGV_ACCERR : SEGV_MAPERR,
                (struct fault){TRAP_PAGE, error, missing});
}

void signals_raise_protection(struct native_thread *thread)
{
    raise_fault(thread, SIGSEGV, SI_KERNEL, (struct fault){TRAP_PROTECTION, 0, 0});
}

/* ---- system calls ---- */

long signals_call_action(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    unsigned number = r[REGISTER_RDI];
    struct action new_action, old_action;
    if (r[REGISTER_R10] != 8 || number < 1 || number >= SIGNAL_COUNT)
        return -EINVAL;
    if (r[REGISTER_RSI] && (number == SIGKILL || number == SIGSTOP))
        return -EINVAL;
    if (r[REGISTER_RSI] && !gate_copy(&new_action, (void *)r[REGISTER_RSI], sizeof new_action))
        return -EFAULT;
    lock_take(&actions_lock);
    old_action = thread->actions[number];
    if (r[REGISTER_RSI]) {
        new_action.mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
        thread->actions[number] = new_action;
        install(number, &new_action);
    }
    lock_give(&actions_lock);
    if (r[REGISTER_RDX] && !gate_copy((void *)r[REGISTER_RDX], &old_action, sizeof old_action))
        return -EFAULT;
    return 0;
}

long signals_call_mask(struct native_thread *thread)
{
    long result = syscalls_pass_on(thread);
    if (result != SYSCALL_NOT_BEGUN)
        look_at_mask(thread);
    return result;
}

/* The kernel does it, from a copy of the program's frame that leads back into the cache; the
 * vector state is taken from where the program has it. */
_Noreturn void signals_call_return(struct native_thread *thread)
{
    struct ucontext context;
    uint64_t frame = thread->registers[REGISTER_RSP], mask;
    if (!gate_copy(&context, (void *)frame, sizeof context))
        end_by_signal(SIGSEGV);
    signals_set_mask(SIGNALS_ALL);
    if (thread->pending)
        send_again(thread);
    turns_take(thread);
    lock_take(&cache.lock);
    record_settle(thread);
    core_signal_out(&core, thread->thread, context.uc_mcontext.rip, context.uc_mcontext.rsp);
    registers_from_frame(thread, &context.uc_mcontext);
    memcpy(&mask, &context.uc_sigmask, 8);
    mask_is(thread, mask);
    thread->pc = context.uc_mcontext.rip;
    alternate_from_frame(thread, &context.uc_stack);
    thread->cache_pc = thread_enter(thread);
    fast_leave_by(thread, true);
    context.uc_mcontext.rip = thread->cache_entry;
    context.uc_stack =
        (stack_t){.ss_sp = (void *)thread->signal_stack, .ss_size = SIGNAL_STACK_BYTES};
    lock_give(&cache.lock);
    gate_return_from(&context);
}

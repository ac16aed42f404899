/* seccomp.c: see seccomp.h. The language of the filters is that of the kernel's seccomp(2). */
#include "engines/native/seccomp.h"
#include "engines/native/cache.h"
#include "engines/native/gate.h"
#include "engines/native/record.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>

#define MOST_INSTRUCTIONS 4096 /* BPF_MAXINSNS */

/* Newest first; kept for good: threads and forks share them. */
struct filter {
    const struct filter *before;
    unsigned count;
    bool by_prctl;
    struct sock_filter code[];
};

/* ---- one filter ---- */

struct state {
    uint32_t a, x, memory[BPF_MEMWORDS];
};

static bool compute(struct state *state, uint16_t code, uint32_t operand)
{
    switch (BPF_OP(code)) {
    case BPF_ADD:
        state->a += operand;
        return true;
    case BPF_SUB:
        state->a -= operand;
        return true;
    case BPF_MUL:
        state->a *= operand;
        return true;
    case BPF_DIV:
        state->a = operand ? state->a / operand : 0;
        return operand;
    case BPF_AND:
        state->a &= operand;
        return true;
    case BPF_OR:
        state->a |= operand;
        return true;
    case BPF_XOR:
        state->a ^= operand;
        return true;
    case BPF_LSH:
        state->a = operand < 32 ? state->a << operand : 0;
        return true;
    case BPF_RSH:
        state->a = operand < 32 ? state->a >> operand : 0;
        return true;
    default: /* BPF_NEG */
        state->a = -state->a;
        return true;
    }
}

static bool holds(const struct state *state, uint16_t code, uint32_t operand)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return state->a == operand;
    case BPF_JGT:
        return state->a > operand;
    case BPF_JGE:
        return state->a >= operand;
    default: /* BPF_JSET */
        return state->a & operand;
    }
}

static void load(struct state *state, const struct sock_filter *at, const struct seccomp_data *data)
{
    uint32_t value = at->k;
    if (BPF_MODE(at->code) == BPF_ABS)
        memcpy(&value, (const uint8_t *)data + at->k, sizeof value);
    else if (BPF_MODE(at->code) == BPF_LEN)
        value = sizeof *data;
    else if (BPF_MODE(at->code) == BPF_MEM)
        value = state->memory[at->k];
    *(BPF_CLASS(at->code) == BPF_LD ? &state->a : &state->x) = value;
}

/* The filter was checked: it ends, and within itself. */
static uint32_t run_filter(const struct filter *filter, const struct seccomp_data *data)
{
    struct state state = {0};
    for (const struct sock_filter *at = filter->code;; at++) {
        uint32_t operand = BPF_SRC(at->code) == BPF_X ? state.x : at->k;
        switch (BPF_CLASS(at->code)) {
        case BPF_LD:
        case BPF_LDX:
            load(&state, at, data);
            break;
        case BPF_ST:
            state.memory[at->k] = state.a;
            break;
        case BPF_STX:
            state.memory[at->k] = state.x;
            break;
        case BPF_ALU:
            if (!compute(&state, at->code, operand))
                return 0;
            break;
        case BPF_JMP:
            if (BPF_OP(at->code) == BPF_JA)
                at += at->k;
            else
                at += holds(&state, at->code, operand) ? at->jt : at->jf;
            break;
        case BPF_RET:
            return BPF_RVAL(at->code) == BPF_A ? state.a : at->k;
        default: /* BPF_MISC */
            if (BPF_MISCOP(at->code) == BPF_TAX)
                state.x = state.a;
            else
                state.a = state.x;
        }
    }
}

/* May it be run? `left` instructions follow it. */
static bool is_sound(const struct sock_filter *at, unsigned left)
{
    switch (BPF_CLASS(at->code)) {
    case BPF_LD:
    case BPF_LDX:
        if (BPF_MODE(at->code) == BPF_ABS)
            return at->code == (BPF_LD | BPF_W | BPF_ABS) && at->k % 4 == 0 &&
                   at->k < sizeof(struct seccomp_data);
        return BPF_SIZE(at->code) == BPF_W &&
               (BPF_MODE(at->code) == BPF_IMM || BPF_MODE(at->code) == BPF_LEN ||
                (BPF_MODE(at->code) == BPF_MEM && at->k < BPF_MEMWORDS));
    case BPF_ST:
    case BPF_STX:
        return at->k < BPF_MEMWORDS;
    case BPF_ALU:
        if (BPF_SRC(at->code) == BPF_K && BPF_OP(at->code) == BPF_DIV && !at->k)
            return false;
        return BPF_OP(at->code) <= BPF_NEG || BPF_OP(at->code) == BPF_XOR;
    case BPF_JMP:
        if (BPF_OP(at->code) == BPF_JA)
            return at->k < left;
        return BPF_OP(at->code) <= BPF_JSET && at->jt < left && at->jf < left;
    case BPF_RET:
        return BPF_RVAL(at->code) == BPF_K || BPF_RVAL(at->code) == BPF_A;
    default:
        return BPF_MISCOP(at->code) == BPF_TAX || BPF_MISCOP(at->code) == BPF_TXA;
    }
}

static bool filter_is_sound(const struct filter *filter)
{
    for (unsigned i = 0; i < filter->count; i++)
        if (!is_sound(&filter->code[i], filter->count - i - 1))
            return false;
    return BPF_CLASS(filter->code[filter->count - 1].code) == BPF_RET;
}

/* ---- what they say about a call ---- */

/* The strictest answer, the newest among equals. */
static uint32_t answer_of(const struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    struct seccomp_data data = {
        .nr = r[REGISTER_RAX],
        .arch = AUDIT_ARCH_X86_64,
        .instruction_pointer = thread->pc,
        .args = {r[REGISTER_RDI], r[REGISTER_RSI], r[REGISTER_RDX], r[REGISTER_R10], r[REGISTER_R8],
                 r[REGISTER_R9]},
    };
    uint32_t answer = SECCOMP_RET_ALLOW;
    for (const struct filter *filter = thread->filters; filter; filter = filter->before) {
        uint32_t said = run_filter(filter, &data);
        if ((int32_t)(said & SECCOMP_RET_ACTION_FULL) < (int32_t)(answer & SECCOMP_RET_ACTION_FULL))
            answer = said;
    }
    return answer;
}

_Noreturn static void end_by(struct native_thread *thread, unsigned number)
{
    if (!thread->is_vfork) {
        lock_take(&cache.lock);
        record_finish(128 + number);
    }
    signals_die(number);
}

static bool strict_allows(struct native_thread *thread)
{
    switch (thread->registers[REGISTER_RAX]) {
    case __NR_read:
    case __NR_write:
    case __NR_exit:
    case __NR_rt_sigreturn:
        return true;
    default:
        end_by(thread, SIGKILL);
    }
}

static void raise_trap(struct native_thread *thread, uint32_t answer)
{
    siginfo_t info = {0};
    info.si_signo = SIGSYS;
    info.si_code = 1; /* SYS_SECCOMP */
    info.si_errno = answer & SECCOMP_RET_DATA;
    info.si_call_addr = (void *)thread->pc;
    info.si_syscall = thread->registers[REGISTER_RAX];
    info.si_arch = AUDIT_ARCH_X86_64;
    if (!signals_raise(thread, &info))
        end_by(thread, SIGSYS);
}

bool seccomp_allows(struct native_thread *thread)
{
    if (thread->is_strict && strict_allows(thread))
        return true;
    uint32_t answer = answer_of(thread), data = answer & SECCOMP_RET_DATA;
    long result = thread->registers[REGISTER_RAX];
    switch (answer & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
        return true;
    case SECCOMP_RET_ERRNO:
        result = -(long)(data > 4095 ? 4095 : data);
        break;
    case SECCOMP_RET_TRACE:
    case SECCOMP_RET_USER_NOTIF:
        result = -ENOSYS; /* nobody is there to ask */
        break;
    case SECCOMP_RET_TRAP:
        raise_trap(thread, answer);
        break;
    case SECCOMP_RET_KILL_THREAD:
        if (!threads_is_last(thread))
            threads_call_exit(thread);
        end_by(thread, SIGSYS);
    default:
        end_by(thread, SIGSYS);
    }
    thread->registers[REGISTER_RAX] = result;
    thread->registers[REGISTER_RCX] = thread->pc;
    thread->registers[REGISTER_R11] = thread->flags;
    return false;
}

/* ---- installing them ---- */

static long install(struct native_thread *thread, uint64_t address, uint64_t flags, bool by_prctl)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog given, stand_in = {1, &allow};
    if (!gate_copy(&given, (const void *)address, sizeof given))
        return -EFAULT;
    if (!given.len || given.len > MOST_INSTRUCTIONS)
        return -EINVAL;
    size_t size = given.len * sizeof *given.filter;
    struct filter *filter = arena_allocate(sizeof *filter + size);
    filter->count = given.len;
    filter->by_prctl = by_prctl;
    filter->before = thread->filters;
    long result = -EFAULT;
    if (gate_copy(filter->code, given.filter, size))
        result = filter_is_sound(filter) ? sys(seccomp, SECCOMP_SET_MODE_FILTER, flags, &stand_in)
                                         : -EINVAL;
    if (result) {
        arena_release(filter, sizeof *filter + size);
        return result;
    }
    thread->filters = filter;
    if (flags & SECCOMP_FILTER_FLAG_TSYNC)
        threads_share_filters(thread);
    return 0;
}

static long be_strict(struct native_thread *thread)
{
    if (thread->filters)
        return -EINVAL;
    thread->is_strict = true;
    return 0;
}

long seccomp_call_prctl(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (r[REGISTER_RDI] != PR_SET_SECCOMP)
        return syscalls_pass_on(thread);
    if (r[REGISTER_RSI] == SECCOMP_MODE_STRICT)
        return be_strict(thread);
    return r[REGISTER_RSI] == SECCOMP_MODE_FILTER ? install(thread, r[REGISTER_RDX], 0, true)
                                                  : -EINVAL;
}

long seccomp_call_seccomp(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (r[REGISTER_RDI] == SECCOMP_SET_MODE_STRICT && !r[REGISTER_RSI] && !r[REGISTER_RDX])
        return be_strict(thread);
    if (r[REGISTER_RDI] != SECCOMP_SET_MODE_FILTER || !r[REGISTER_RDX] ||
        (r[REGISTER_RSI] & SECCOMP_FILTER_FLAG_NEW_LISTENER))
        return syscalls_pass_on(thread);
    return install(thread, r[REGISTER_RDX], r[REGISTER_RSI], false);
}

/* Oldest first, by the call that the program made: each lets those be installed that came after. */
void seccomp_hand_over(struct native_thread *thread)
{
    for (const struct filter *last = NULL, *filter; last != thread->filters; last = filter) {
        for (filter = thread->filters; filter->before != last;)
            filter = filter->before;
        struct sock_fprog program = {filter->count, (struct sock_filter *)filter->code};
        if (filter->by_prctl)
            sys(prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
        else
            sys(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    }
    thread->filters = NULL;
}

/* repeatable.c: see repeatable.h. */
#include "engines/native/repeatable.h"
#include "core/fixed.h"
#include "engines/native/cpuid.h"
#include "engines/native/gate.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/vectors.h"
#include "engines/native/waits.h"
#include <errno.h>
#include <linux/futex.h>
#include <linux/time.h>

/* ---- the processor ---- */

void repeatable_init(void)
{
    if (options.repeatable && processor_has_less(cpuid(1, 0), cpuid(7, 0), cpuid(0x80000001, 0)))
        refuse_program(
            "--repeatable shows programs a processor with AVX2, which this machine has not", NULL);
}

static void emulate_cpuid(uint64_t *r)
{
    struct processor_answer answer = processor_ask(r[REGISTER_RAX], r[REGISTER_RCX]);
    r[REGISTER_RAX] = answer.eax;
    r[REGISTER_RBX] = answer.ebx;
    r[REGISTER_RCX] = answer.ecx;
    r[REGISTER_RDX] = answer.edx;
}

/* ---- time and chance ---- */

static struct fixed fixed;

void repeatable_random(uint8_t *bytes, uint64_t size)
{
    fixed_random(&fixed, bytes, size);
}

uint64_t repeatable_elapsed(void)
{
    return __atomic_load_n(&fixed.elapsed, __ATOMIC_RELAXED);
}

void repeatable_pass(uint64_t nanoseconds)
{
    fixed_pass(&fixed, nanoseconds);
}

/* ---- instructions ---- */

enum { MODRM_XGETBV = 0xd0, MODRM_RDTSCP = 0xf9 };

bool repeatable_wants(const struct instruction *instruction)
{
    if (instruction->encoding != ENCODING_LEGACY || instruction->map != 1)
        return false;
    switch (instruction->opcode) {
    case 0xa2: /* cpuid */
    case 0x31: /* rdtsc */
        return true;
    case 0x01:
        return instruction->modrm == MODRM_XGETBV || instruction->modrm == MODRM_RDTSCP;
    case 0xc7: /* rdrand, rdseed: shown as absent */
        return instruction->modrm >= 0xf0;
    default:
        return false;
    }
}

static bool addresses_by_rax(const struct instruction *instruction)
{
    bool by_sib = (instruction->modrm & 7) == 4, extended = instruction->rex & 1;
    unsigned base = (by_sib ? instruction->sib : instruction->modrm) & 7;
    unsigned index = instruction->sib >> 3 & 7;
    return (base == REGISTER_RAX && !extended) ||
           (by_sib && index == REGISTER_RAX && !(instruction->rex & 2));
}

bool repeatable_limits_state(const struct instruction *instruction)
{
    return options.repeatable && vectors_saves_state(instruction) && !addresses_by_rax(instruction);
}

static void emulate_random(struct native_thread *thread, const struct instruction *instruction)
{
    const uint64_t arithmetic = 0x8d5;
    uint64_t value, *to = &thread->registers[instruction_rm(instruction)];
    repeatable_random((uint8_t *)&value, sizeof value);
    if (instruction->rex & 8)
        *to = value;
    else if (instruction->prefixes & PREFIX_66)
        *to = (*to & ~0xfffful) | (value & 0xffff);
    else
        *to = (uint32_t)value;
    thread->flags = (thread->flags & ~arithmetic) | 1; /* carry: there was some */
}

uint32_t repeatable_keep(const struct instruction *instruction)
{
    return instruction->opcode | instruction->modrm << 8 | instruction->rex << 16 |
           (uint32_t)instruction->prefixes << 24;
}

void repeatable_emulate(struct native_thread *thread, uint32_t kept)
{
    const struct instruction instruction = {
        .opcode = kept, .modrm = kept >> 8, .rex = kept >> 16, .prefixes = kept >> 24};
    uint64_t *r = thread->registers, now;
    if (instruction.opcode == 0xa2) {
        emulate_cpuid(r);
        return;
    }
    if (instruction.opcode == 0xc7) {
        emulate_random(thread, &instruction);
        return;
    }
    if (instruction.opcode == 0x01 && instruction.modrm == MODRM_XGETBV) {
        r[REGISTER_RAX] = PROCESSOR_STATE;
        r[REGISTER_RDX] = 0;
        return;
    }
    now = fixed_counter(&fixed);
    r[REGISTER_RAX] = (uint32_t)now;
    r[REGISTER_RDX] = now >> 32;
    if (instruction.opcode == 0x01)
        r[REGISTER_RCX] = 0;
}

/* ---- system calls ---- */

struct time_value {
    int64_t seconds, fraction;
};

static bool put_time(uint64_t address, uint64_t nanoseconds, uint64_t unit)
{
    struct time_value value = {nanoseconds / FIXED_SECOND, nanoseconds % FIXED_SECOND / unit};
    return !address || gate_copy((void *)address, &value, sizeof value);
}

long repeatable_call_clock_gettime(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (!options.repeatable)
        return syscalls_pass_on(thread);
    if (r[REGISTER_RDI] > 11 && (int64_t)r[REGISTER_RDI] > 0)
        return -EINVAL;
    uint64_t now = fixed_clock(r[REGISTER_RDI], fixed_ask(&fixed));
    return put_time(r[REGISTER_RSI], now, 1) ? 0 : -EFAULT;
}

long repeatable_call_gettimeofday(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (!options.repeatable || r[REGISTER_RSI])
        return syscalls_pass_on(thread);
    return put_time(r[REGISTER_RDI], fixed_clock(CLOCK_REALTIME, fixed_ask(&fixed)), 1000)
               ? 0
               : -EFAULT;
}

long repeatable_call_time(struct native_thread *thread)
{
    uint64_t to = thread->registers[REGISTER_RDI];
    if (!options.repeatable)
        return syscalls_pass_on(thread);
    uint64_t seconds = (fixed_clock(CLOCK_REALTIME, fixed_ask(&fixed))) / FIXED_SECOND;
    return !to || gate_copy((void *)to, &seconds, sizeof seconds) ? (long)seconds : -EFAULT;
}

/* A time as the kernel takes it; false: it would not. */
static bool take_time(uint64_t address, int64_t *nanoseconds, long *result)
{
    struct time_value value;
    bool readable = gate_copy(&value, (void *)address, sizeof value);
    *result = readable ? -EINVAL : -EFAULT;
    if (!readable || value.seconds < 0 || value.seconds > INT64_MAX / (int64_t)FIXED_SECOND / 2 ||
        value.fraction < 0 || value.fraction >= (int64_t)FIXED_SECOND)
        return false;
    *nanoseconds = value.seconds * (int64_t)FIXED_SECOND + value.fraction;
    return true;
}

/* What is left until a clock of the program's shows `deadline`; not less than nothing. */
static uint64_t left_until(int64_t deadline, uint64_t clock)
{
    int64_t left = deadline - (int64_t)fixed_clock(clock, repeatable_elapsed());
    return left > 0 ? left : 0;
}

/* The call, with the deadline in `argument` moved from the program's clock to the kernel's. */
static long call_with_deadline(struct native_thread *thread, unsigned argument, uint64_t clock,
                               uint64_t left)
{
    uint64_t kept = thread->registers[argument];
    struct time_value real;
    sys(clock_gettime, clock, &real);
    int64_t until = real.seconds * (int64_t)FIXED_SECOND + real.fraction + left;
    real = (struct time_value){until / FIXED_SECOND, until % FIXED_SECOND};
    thread->registers[argument] = (uint64_t)&real;
    long result = syscalls_pass_on(thread);
    thread->registers[argument] = kept;
    return result;
}

/* Among threads that take turns. `rest`: where what is left of it goes, 0: nowhere. */
static long sleep_in_turns(struct native_thread *thread, uint64_t left, uint64_t rest)
{
    const struct timed_wait wait = {.flags = FUTEX_PRIVATE_FLAG,
                                    .deadline = repeatable_elapsed() + left};
    long result = waits_until(thread, &wait);
    uint64_t now = repeatable_elapsed();
    if (result == -EINTR && !put_time(rest, wait.deadline > now ? wait.deadline - now : 0, 1))
        return -EFAULT;
    return result == -ETIMEDOUT ? 0 : result;
}

static long sleep_for(struct native_thread *thread, unsigned argument)
{
    int64_t span;
    long result;
    if (!take_time(thread->registers[argument], &span, &result))
        return result;
    if (waits_in_turns(thread)) /* what is left goes where the next argument says */
        return sleep_in_turns(
            thread, span,
            thread->registers[argument == REGISTER_RDI ? REGISTER_RSI : REGISTER_R10]);
    result = syscalls_pass_on(thread);
    if (!result)
        fixed_pass(&fixed, span);
    return result;
}

long repeatable_call_nanosleep(struct native_thread *thread)
{
    return options.repeatable ? sleep_for(thread, REGISTER_RDI) : syscalls_pass_on(thread);
}

long repeatable_call_clock_nanosleep(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    int64_t deadline;
    long result;
    if (!options.repeatable || r[REGISTER_RDI] > 11)
        return syscalls_pass_on(thread);
    if (!(r[REGISTER_RSI] & 1 /* TIMER_ABSTIME */))
        return sleep_for(thread, REGISTER_RDX);
    if (!take_time(r[REGISTER_RDX], &deadline, &result))
        return result;
    uint64_t left = left_until(deadline, r[REGISTER_RDI]);
    if (waits_in_turns(thread))
        return sleep_in_turns(thread, left, 0);
    result = call_with_deadline(thread, REGISTER_RDX, r[REGISTER_RDI], left);
    if (!result)
        fixed_pass(&fixed, left);
    return result;
}

/* How long a call waits at most; 0: not at all, or without a limit. */
static uint64_t longest_wait(const uint64_t *r, struct fixed_limit limit)
{
    static const uint8_t arguments[] = {REGISTER_RDI, REGISTER_RSI, REGISTER_RDX,
                                        REGISTER_R10, REGISTER_R8,  REGISTER_R9};
    uint64_t argument = r[arguments[limit.argument]];
    const uint64_t unit = limit.unit == FIXED_LIMIT_MICROSECONDS ? 1000 : 1;
    struct time_value value;
    if (limit.unit == FIXED_LIMIT_MILLISECONDS)
        return (int32_t)argument > 0 ? (int32_t)argument * (FIXED_SECOND / 1000) : 0;
    if (!argument || !gate_copy(&value, (void *)argument, sizeof value) || value.seconds < 0 ||
        value.seconds > INT64_MAX / (int64_t)FIXED_SECOND / 2 || value.fraction < 0 ||
        value.fraction >= (int64_t)(FIXED_SECOND / unit))
        return 0;
    return value.seconds * FIXED_SECOND + value.fraction * unit;
}

/* Another thread may have let time pass meanwhile. */
static void pass_until(uint64_t then)
{
    uint64_t now = repeatable_elapsed();
    if (now < then)
        fixed_pass(&fixed, then - now);
}

long repeatable_call_events(struct native_thread *thread)
{
    const uint64_t *r = thread->registers, number = r[REGISTER_RAX];
    if (!options.repeatable)
        return syscalls_pass_on(thread);
    uint64_t until = repeatable_elapsed() + longest_wait(r, fixed_limit_of(number));
    long result = syscalls_pass_on(thread);
    if (result == (number == __NR_rt_sigtimedwait ? -EAGAIN : 0))
        pass_until(until);
    return result;
}

/* Without descriptors it is a sleep, as CPython has it before 3.11; what is left of it replaces it. */
long repeatable_call_pselect(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t mask[2] = {0};
    int64_t span;
    long result;
    if (!options.repeatable || r[REGISTER_RDI] || !r[REGISTER_R8] || !waits_in_turns(thread) ||
        (r[REGISTER_R9] && !gate_copy(mask, (void *)r[REGISTER_R9], sizeof mask)) || mask[0])
        return repeatable_call_events(thread);
    if (!take_time(r[REGISTER_R8], &span, &result))
        return result;
    result = sleep_in_turns(thread, span, r[REGISTER_R8]);
    if (!result)
        put_time(r[REGISTER_R8], 0, 1);
    return result;
}

static bool waits_for_any(const uint64_t *r)
{
    unsigned command = r[REGISTER_RSI] & FUTEX_CMD_MASK;
    return command == FUTEX_WAIT ||
           (command == FUTEX_WAIT_BITSET && (uint32_t)r[REGISTER_R9] == FUTEX_BITSET_MATCH_ANY);
}

static bool wakes_some(const uint64_t *r)
{
    unsigned command = r[REGISTER_RSI] & FUTEX_CMD_MASK;
    return command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE ||
           (command == FUTEX_WAKE_BITSET && (uint32_t)r[REGISTER_R9] != FUTEX_BITSET_MATCH_ANY);
}

static long futex_in_turns(struct native_thread *thread, uint64_t left)
{
    const uint64_t *r = thread->registers;
    const struct timed_wait wait = {.address = r[REGISTER_RDI],
                                    .value = r[REGISTER_RDX],
                                    .flags = r[REGISTER_RSI] & FUTEX_PRIVATE_FLAG,
                                    .deadline = repeatable_elapsed() + left};
    return waits_until(thread, &wait);
}

long repeatable_call_futex(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    unsigned command = r[REGISTER_RSI] & FUTEX_CMD_MASK;
    bool absolute = command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
                    command == FUTEX_LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
    bool in_turns = waits_for_any(r) && waits_in_turns(thread);
    int64_t limit;
    long result;
    if (!options.repeatable)
        return syscalls_pass_on(thread);
    if (in_turns && !r[REGISTER_R10])
        return waits_without_limit(thread);
    if (wakes_some(r) && waits_in_turns(thread))
        return waits_wake_some(thread);
    if ((!absolute && !in_turns) || !r[REGISTER_R10])
        return syscalls_pass_on(thread);
    if (!take_time(r[REGISTER_R10], &limit, &result))
        return result;
    bool of_day = (r[REGISTER_RSI] & FUTEX_CLOCK_REALTIME) || command == FUTEX_LOCK_PI;
    uint64_t clock = of_day ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    uint64_t left = absolute ? left_until(limit, clock) : (uint64_t)limit;
    if (in_turns)
        return futex_in_turns(thread, left);
    result = call_with_deadline(thread, REGISTER_R10, clock, left);
    if (result == -ETIMEDOUT)
        fixed_pass(&fixed, left);
    return result;
}

long repeatable_call_getrandom(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (!options.repeatable || (r[REGISTER_RDX] & ~7ul))
        return syscalls_pass_on(thread);
    uint64_t size = r[REGISTER_RSI] < 1u << 25 ? r[REGISTER_RSI] : 1u << 25;
    for (uint64_t done = 0; done < size;) {
        uint8_t bytes[256];
        uint64_t piece = size - done < sizeof bytes ? size - done : sizeof bytes;
        repeatable_random(bytes, piece);
        if (!gate_copy((void *)(r[REGISTER_RDI] + done), bytes, piece))
            return done ? (long)done : -EFAULT;
        done += piece;
    }
    return size;
}

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

void repeatable_emulate(struct native_thread *thread, uint64_t pc)
{
    struct instruction instruction;
    uint64_t *r = thread->registers, now;
    instruction_decode((const uint8_t *)pc, INSTRUCTION_LENGTH_MAX, &instruction);
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

/* The call, with the deadline in `argument` moved from the program's clock to the kernel's. */
static long call_with_deadline(struct native_thread *thread, unsigned argument, uint64_t clock)
{
    uint64_t kept = thread->registers[argument];
    struct time_value deadline, real;
    if (!gate_copy(&deadline, (void *)kept, sizeof deadline))
        return -EFAULT;
    int64_t left = deadline.seconds * (int64_t)FIXED_SECOND + deadline.fraction -
                   (int64_t)fixed_clock(clock, fixed.elapsed);
    sys(clock_gettime, clock, &real);
    int64_t until = real.seconds * (int64_t)FIXED_SECOND + real.fraction + (left > 0 ? left : 0);
    real = (struct time_value){until / FIXED_SECOND, until % FIXED_SECOND};
    thread->registers[argument] = (uint64_t)&real;
    long result = syscalls_pass_on(thread);
    thread->registers[argument] = kept;
    if (left > 0 && result == -ETIMEDOUT)
        fixed_pass(&fixed, left);
    return result;
}

static long sleep_for(struct native_thread *thread, unsigned argument)
{
    struct time_value span;
    bool known = gate_copy(&span, (void *)thread->registers[argument], sizeof span);
    long result = syscalls_pass_on(thread);
    if (!result && known)
        fixed_pass(&fixed, span.seconds * FIXED_SECOND + span.fraction);
    return result;
}

long repeatable_call_nanosleep(struct native_thread *thread)
{
    return options.repeatable ? sleep_for(thread, REGISTER_RDI) : syscalls_pass_on(thread);
}

long repeatable_call_clock_nanosleep(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (!options.repeatable || r[REGISTER_RDI] > 11)
        return syscalls_pass_on(thread);
    if (!(r[REGISTER_RSI] & 1 /* TIMER_ABSTIME */))
        return sleep_for(thread, REGISTER_RDX);
    long result = call_with_deadline(thread, REGISTER_RDX, r[REGISTER_RDI]);
    struct time_value deadline;
    if (!result && gate_copy(&deadline, (void *)r[REGISTER_RDX], sizeof deadline)) {
        int64_t left = deadline.seconds * (int64_t)FIXED_SECOND + deadline.fraction -
                       (int64_t)fixed_clock(r[REGISTER_RDI], fixed.elapsed);
        fixed_pass(&fixed, left > 0 ? left : 0);
    }
    return result;
}

long repeatable_call_futex(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    unsigned command = r[REGISTER_RSI] & FUTEX_CMD_MASK;
    bool absolute = command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
                    command == FUTEX_LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
    if (!options.repeatable || !absolute || !r[REGISTER_R10])
        return syscalls_pass_on(thread);
    bool of_day = (r[REGISTER_RSI] & FUTEX_CLOCK_REALTIME) || command == FUTEX_LOCK_PI;
    return call_with_deadline(thread, REGISTER_R10, of_day ? CLOCK_REALTIME : CLOCK_MONOTONIC);
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

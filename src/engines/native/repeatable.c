/* repeatable.c: see repeatable.h. */
#include "engines/native/repeatable.h"
#include "core/fixed.h"
#include "engines/native/gate.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <errno.h>
#include <linux/futex.h>
#include <linux/time.h>

/* ---- the processor ---- */

struct leaf {
    uint32_t number, part; /* part: ecx on entry; ANY_PART: whatever */
    uint32_t eax, ebx, ecx, edx;
};

#define ANY_PART   UINT32_MAX
#define LEAF_STATE 0xd

/* What xsave writes on this machine. It runs as it is, and writes the state of registers that the
 * program does not know of, so that it must be told the room they take. */
static uint32_t state_bytes;

/* sse3 pclmul ssse3 fma cx16 sse4.1 sse4.2 movbe popcnt aes xsave osxsave avx f16c */
#define FEATURES_1_ECX 0x3ed83203u
#define NEEDED_1_ECX   0x36d83203u /* not osxsave: the kernel's to say, by xgetbv */
/* fpu tsc cx8 cmov clflush mmx fxsr sse sse2 and what every 64-bit one has */
#define FEATURES_1_EDX 0x078bfbffu
/* bmi1 avx2 bmi2 erms */
#define FEATURES_7_EBX 0x00000328u
/* lahf lzcnt prefetchw; syscall nx long mode */
#define FEATURES_X_ECX 0x00000121u
#define FEATURES_X_EDX 0x28100800u

static const struct leaf leaves[] = {
    {0, ANY_PART, 0xd, 0x756e6547, 0x6c65746e, 0x49656e69}, /* GenuineIntel */
    {1, ANY_PART, 0x000306c3, 0x00100800, FEATURES_1_ECX, FEATURES_1_EDX},
    {2, ANY_PART, 0x00feff01, 0xf0, 0, 0},   /* caches: see leaf 4 */
    {4, 0, 0x1c004121, 0x01c0003f, 63, 0},   /* 32 KB of data */
    {4, 1, 0x1c004122, 0x01c0003f, 63, 0},   /* 32 KB of code */
    {4, 2, 0x1c004143, 0x01c0003f, 511, 0},  /* 256 KB */
    {4, 3, 0x1c03c163, 0x03c0003f, 8191, 6}, /* 8 MB, shared */
    {7, 0, 0, FEATURES_7_EBX, 0, 0},
    {LEAF_STATE, 0, 7, 832, 832, 0}, /* x87, SSE and AVX state; see state_bytes */
    {LEAF_STATE, 1, 1, 0, 0, 0},     /* xsaveopt */
    {LEAF_STATE, 2, 256, 576, 0, 0},
    {0x80000000, ANY_PART, 0x80000008, 0, 0, 0},
    {0x80000001, ANY_PART, 0, 0, FEATURES_X_ECX, FEATURES_X_EDX},
    {0x80000002, ANY_PART, 0x65757274, 0x6d616c66, 0x72702065,
     0x7365636f}, /* trueflame processor */
    {0x80000003, ANY_PART, 0x00726f73, 0, 0, 0},
    {0x80000006, ANY_PART, 0, 0, 0x01006040, 0},
    {0x80000008, ANY_PART, 0x3027, 0, 0, 0},
};

static void ask_processor(uint32_t number, uint32_t out[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3])
                     : "a"(number), "c"(0));
}

void repeatable_init(void)
{
    uint32_t first[4], seventh[4], extended[4], state[4];
    if (!options.repeatable)
        return;
    ask_processor(1, first);
    ask_processor(7, seventh);
    ask_processor(0x80000001, extended);
    ask_processor(LEAF_STATE, state);
    state_bytes = state[1];
    if ((first[2] & NEEDED_1_ECX) != NEEDED_1_ECX ||
        (seventh[1] & FEATURES_7_EBX) != FEATURES_7_EBX ||
        (extended[2] & FEATURES_X_ECX) != FEATURES_X_ECX)
        refuse_program(
            "--repeatable shows programs a processor with AVX2, which this machine has not", NULL);
}

static void emulate_cpuid(uint64_t *r)
{
    uint32_t number = r[REGISTER_RAX], part = r[REGISTER_RCX];
    struct leaf found = {0};
    for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (leaves[i].number == number && (leaves[i].part == ANY_PART || leaves[i].part == part))
            found = leaves[i];
    if (number == LEAF_STATE && part == 0)
        found.ebx = found.ecx = state_bytes;
    r[REGISTER_RAX] = found.eax;
    r[REGISTER_RBX] = found.ebx;
    r[REGISTER_RCX] = found.ecx;
    r[REGISTER_RDX] = found.edx;
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
        r[REGISTER_RAX] = 7;
        r[REGISTER_RDX] = 0;
        return;
    }
    now = fixed_counter(&fixed);
    r[REGISTER_RAX] = (uint32_t)now;
    r[REGISTER_RDX] = now >> 32;
    if (instruction.opcode == 0x01)
        r[REGISTER_RCX] = 0;
}

void repeatable_auxiliary(Elf64_auxv_t *row)
{
    switch (row->a_type) {
    case AT_HWCAP:
        row->a_un.a_val = FEATURES_1_EDX;
        break;
    case AT_HWCAP2:
        row->a_un.a_val = 0;
        break;
    case AT_MINSIGSTKSZ:
        row->a_un.a_val = 4096;
        break;
    case AT_SYSINFO_EHDR:
        row->a_type = AT_IGNORE;
        break;
    default:
        break;
    }
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

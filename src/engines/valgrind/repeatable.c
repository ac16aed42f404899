/*
 * repeatable.c: with --repeatable, the program is shown fixed time and chance (core/fixed.h).
 *
 * System calls run as they are, and what they say is replaced afterwards. Deadlines that the
 * program reckoned by its clock are moved to the kernel's before the call, where they lie, and put
 * back after it. The instructions that ask the processor are Valgrind's helpers; the linker puts
 * ours before them (--wrap, in meson.build).
 */
#include "engine.h"

#include "core/fixed.h"
#include "core/platform.h"
#include "core/processor.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

static struct fixed fixed;

struct time_value {
    Long seconds, fraction;
};

enum { DAY_CLOCK = 0, STEADY_CLOCK = 1, LAST_CLOCK = 11 };
enum { ERROR_TIMED_OUT = 110 };

void repeatable_random(UChar *bytes, SizeT size_bytes)
{
    fixed_random(&fixed, bytes, size_bytes);
}

/* ---- system calls ---- */

static void put_time(UWord address, ULong nanoseconds, ULong unit)
{
    if (address)
        *(struct time_value *)address = (struct time_value){
            .seconds = nanoseconds / FIXED_SECOND,
            .fraction = nanoseconds % FIXED_SECOND / unit,
        };
}

static Long nanoseconds_in(const struct time_value *value)
{
    return value->seconds * (Long)FIXED_SECOND + value->fraction;
}

/* What a thread waits for: the program's deadline, and the kernel's in its place. */
struct deadline {
    struct time_value *place; /* NULL: none */
    struct time_value asked, moved;
    Long left;     /* when the call began */
    ULong longest; /* that a call waits for events, if it has a limit */
};

static struct deadline *deadline_of(ThreadId tid)
{
    static struct deadline *deadlines;

    if (!deadlines)
        deadlines = platform_allocate(VG_N_THREADS * sizeof *deadlines);
    return &deadlines[tid];
}

/* Is it as we left it? A call that a signal interrupted is made again without having ended. */
static void put_back(struct deadline *deadline)
{
    struct time_value *place = deadline->place;

    if (place && place->seconds == deadline->moved.seconds &&
        place->fraction == deadline->moved.fraction)
        *place = deadline->asked;
    deadline->place = NULL;
}

static void move_deadline(ThreadId tid, UWord address, UWord clock)
{
    struct deadline *deadline = deadline_of(tid);
    struct time_value real;

    put_back(deadline);
    if (!address ||
        !VG_(am_is_valid_for_client)(address, sizeof real, VKI_PROT_READ | VKI_PROT_WRITE))
        return;
    deadline->place = (struct time_value *)address;
    deadline->asked = *deadline->place;
    deadline->left = nanoseconds_in(&deadline->asked) - (Long)fixed_clock(clock, fixed.elapsed);
    call_kernel(__NR_clock_gettime, clock, (UWord)&real, 0);
    Long until = nanoseconds_in(&real) + (deadline->left > 0 ? deadline->left : 0);
    put_time(address, until, 1);
    deadline->moved = *deadline->place;
}

static void end_wait(ThreadId tid, Bool reached)
{
    struct deadline *deadline = deadline_of(tid);

    if (deadline->place && reached && deadline->left > 0)
        fixed_pass(&fixed, deadline->left);
    put_back(deadline);
}

static Bool is_absolute_wait(const UWord *arguments)
{
    UWord command = arguments[1] & ~(UWord)(VKI_FUTEX_PRIVATE_FLAG | VKI_FUTEX_CLOCK_REALTIME);

    return command == VKI_FUTEX_WAIT_BITSET || command == VKI_FUTEX_LOCK_PI ||
           command == VKI_FUTEX_WAIT_REQUEUE_PI;
}

static Bool is_absolute_sleep(const UWord *arguments)
{
    const UWord absolute = 1;

    return arguments[0] <= LAST_CLOCK && arguments[1] & absolute;
}

/* 0: not at all, or without a limit. */
static ULong longest_wait(const UWord *arguments, struct fixed_limit limit)
{
    UWord argument = arguments[limit.argument];
    const struct time_value *value = (const struct time_value *)argument;

    if (limit.unit == FIXED_NO_LIMIT)
        return 0;
    if (limit.unit == FIXED_LIMIT_MILLISECONDS)
        return (Int)argument > 0 ? (Int)argument * (FIXED_SECOND / 1000) : 0;
    if (!argument || !VG_(am_is_valid_for_client)(argument, sizeof *value, VKI_PROT_READ))
        return 0;
    return value->seconds * FIXED_SECOND +
           value->fraction * (limit.unit == FIXED_LIMIT_MICROSECONDS ? 1000 : 1);
}

void repeatable_before_call(ThreadId tid, UInt number, const UWord *arguments)
{
    if (!options.repeatable)
        return;
    deadline_of(tid)->longest = longest_wait(arguments, fixed_limit_of(number));
    if (number == __NR_futex && is_absolute_wait(arguments)) {
        Bool of_day =
            arguments[1] & VKI_FUTEX_CLOCK_REALTIME || (arguments[1] & 127) == VKI_FUTEX_LOCK_PI;
        move_deadline(tid, arguments[3], of_day ? DAY_CLOCK : STEADY_CLOCK);
    } else if (number == __NR_clock_nanosleep && is_absolute_sleep(arguments)) {
        move_deadline(tid, arguments[2], arguments[0]);
    }
}

static void answer(ThreadId tid, UWord value)
{
    VG_(set_shadow_regs_area)
    (tid, 0, offsetof(VexGuestAMD64State, guest_RAX), sizeof value, (const UChar *)&value);
}

static void after_time(ThreadId tid, UWord address)
{
    UWord seconds = fixed_clock(DAY_CLOCK, fixed_ask(&fixed)) / FIXED_SECOND;

    if (address)
        *(UWord *)address = seconds;
    answer(tid, seconds);
}

/* Valgrind keeps the last signal for itself, and shows it as ignored. Alone it would not be. */
static void after_sigaction(UWord number, UWord address)
{
    const UWord last = 64;

    if (number == last && address)
        VG_(memset)((void *)address, 0, 4 * sizeof(UWord));
}

/* Where there is none, Valgrind says so, and gives an address for it. */
static void after_sigaltstack(UWord address)
{
    const vki_stack_t none = {.ss_flags = VKI_SS_DISABLE};
    vki_stack_t *stack = (vki_stack_t *)address;

    if (stack && stack->ss_flags & VKI_SS_DISABLE)
        *stack = none;
}

void repeatable_after_call(ThreadId tid, UInt number, const UWord *arguments, SysRes result)
{
    Bool well = !sr_isError(result);

    if (!options.repeatable)
        return;
    switch (number) {
    case __NR_rt_sigaction:
        if (well)
            after_sigaction(arguments[0], arguments[2]);
        break;
    case __NR_sigaltstack:
        if (well)
            after_sigaltstack(arguments[1]);
        break;
    case __NR_clock_gettime:
        if (well)
            put_time(arguments[1], fixed_clock(arguments[0], fixed_ask(&fixed)), 1);
        break;
    case __NR_gettimeofday:
        if (well)
            put_time(arguments[0], fixed_clock(DAY_CLOCK, fixed_ask(&fixed)), 1000);
        break;
    case __NR_time:
        if (well)
            after_time(tid, arguments[0]);
        break;
    case __NR_getrandom:
        if (well)
            fixed_random(&fixed, (UChar *)arguments[0], sr_Res(result));
        break;
    case __NR_nanosleep:
        if (well)
            fixed_pass(&fixed, nanoseconds_in((struct time_value *)arguments[0]));
        break;
    case __NR_clock_nanosleep:
        if (is_absolute_sleep(arguments))
            end_wait(tid, well);
        else if (well)
            fixed_pass(&fixed, nanoseconds_in((struct time_value *)arguments[2]));
        break;
    case __NR_futex:
        if (is_absolute_wait(arguments))
            end_wait(tid, !well && sr_Err(result) == ERROR_TIMED_OUT);
        break;
    case __NR_rt_sigtimedwait:
        if (!well && sr_Err(result) == VKI_EAGAIN)
            fixed_pass(&fixed, deadline_of(tid)->longest);
        break;
    default:
        if (well && !sr_Res(result))
            fixed_pass(&fixed, deadline_of(tid)->longest);
    }
}

/* ---- instructions ---- */

void __real_amd64g_dirtyhelper_CPUID_avx2(VexGuestAMD64State *state);
void __wrap_amd64g_dirtyhelper_CPUID_avx2(VexGuestAMD64State *state);
ULong __real_amd64g_dirtyhelper_RDTSC(void);
ULong __wrap_amd64g_dirtyhelper_RDTSC(void);
void __real_amd64g_dirtyhelper_RDTSCP(VexGuestAMD64State *state);
void __wrap_amd64g_dirtyhelper_RDTSCP(VexGuestAMD64State *state);
ULong __real_amd64g_dirtyhelper_RDRAND(void);
ULong __wrap_amd64g_dirtyhelper_RDRAND(void);
ULong __real_amd64g_dirtyhelper_RDSEED(void);
ULong __wrap_amd64g_dirtyhelper_RDSEED(void);

/* Where there is no AVX2 Valgrind shows a lesser processor, which is then also what this is. */
void __wrap_amd64g_dirtyhelper_CPUID_avx2(VexGuestAMD64State *state)
{
    if (!options.repeatable) {
        __real_amd64g_dirtyhelper_CPUID_avx2(state);
        return;
    }
    struct processor_answer answer = processor_ask(state->guest_RAX, state->guest_RCX);
    state->guest_RAX = answer.eax;
    state->guest_RBX = answer.ebx;
    state->guest_RCX = answer.ecx;
    state->guest_RDX = answer.edx;
}

ULong __wrap_amd64g_dirtyhelper_RDTSC(void)
{
    return options.repeatable ? fixed_counter(&fixed) : __real_amd64g_dirtyhelper_RDTSC();
}

void __wrap_amd64g_dirtyhelper_RDTSCP(VexGuestAMD64State *state)
{
    __real_amd64g_dirtyhelper_RDTSCP(state);
    if (!options.repeatable)
        return;
    ULong now = fixed_counter(&fixed);
    state->guest_RAX = (UInt)now;
    state->guest_RDX = now >> 32;
    state->guest_RCX = 0; /* the first processor */
}

/* Half of it is the number, and the lowest bit of the other half that there was one. */
static ULong random_half(void)
{
    UInt number;

    fixed_random(&fixed, (UChar *)&number, sizeof number);
    return (ULong)1 << 32 | number;
}

ULong __wrap_amd64g_dirtyhelper_RDRAND(void)
{
    return options.repeatable ? random_half() : __real_amd64g_dirtyhelper_RDRAND();
}

ULong __wrap_amd64g_dirtyhelper_RDSEED(void)
{
    return options.repeatable ? random_half() : __real_amd64g_dirtyhelper_RDSEED();
}

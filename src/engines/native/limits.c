/* limits.c: see limits.h. */
#include "engines/native/limits.h"
#include "core/text.h"
#include "engines/native/gate.h"
#include "engines/native/maps.h"
#include "engines/native/places.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* What the program says; without it the kernel's is true. */
static struct shown {
    unsigned resource;
    bool is_memory;
    bool is_set;
    struct rlimit64 limit;
} all_shown[] = {
    {.resource = RLIMIT_AS, .is_memory = true},
    {.resource = RLIMIT_DATA, .is_memory = true},
    {.resource = RLIMIT_FSIZE},
    {.resource = RLIMIT_NOFILE},
};

#define LEAST_BYTES (512ul << 20) /* a small Python program fits in beside the engine */
#define SHOWN_COUNT (sizeof all_shown / sizeof *all_shown)

static struct shown *find_shown(uint64_t resource)
{
    for (unsigned i = 0; i < SHOWN_COUNT; i++)
        if (all_shown[i].resource == resource)
            return &all_shown[i];
    return NULL;
}

static struct rlimit64 kernels(unsigned resource)
{
    struct rlimit64 limit = {RLIM64_INFINITY, RLIM64_INFINITY};
    sys(prlimit64, 0, resource, NULL, &limit);
    return limit;
}

static long tell_kernel(unsigned resource, uint64_t soft, uint64_t hard)
{
    struct rlimit64 limit = {soft, hard};
    return sys(prlimit64, 0, resource, &limit, NULL);
}

/* The engine's own memory is in it, and cannot be taken out. */
static uint64_t hard_limit(void)
{
    uint64_t least = RLIM64_INFINITY;
    for (unsigned i = 0; i < SHOWN_COUNT; i++) {
        uint64_t most = kernels(all_shown[i].resource).rlim_max;
        if (all_shown[i].is_memory && most < least)
            least = most;
    }
    return least;
}

void limits_refuse(void)
{
    refuse_program("the limit on memory is too small for the native engine", NULL);
}

static uint64_t on_stack;

void limits_init(uint64_t address)
{
    on_stack = address;
    for (unsigned i = 0; i < SHOWN_COUNT; i++) {
        struct shown *shown = &all_shown[i];
        struct rlimit64 limit = kernels(shown->resource);
        if (!shown->is_memory || limit.rlim_cur == limit.rlim_max)
            continue;
        if (!shown->is_set)
            shown->limit = limit;
        shown->is_set = true;
        tell_kernel(shown->resource, limit.rlim_max, limit.rlim_max);
    }
    if (hard_limit() < LEAST_BYTES)
        limits_refuse();
}

uint64_t limits_share(uint64_t wanted)
{
    const uint64_t part = hard_limit() / 16, grain = 2ul << 20;
    return wanted <= part ? wanted : part & -grain;
}

unsigned limits_options(char **words)
{
    _Static_assert(SHOWN_COUNT <= LIMITS_MOST, "a word for each");
    unsigned count = 0;
    for (unsigned i = 0; i < SHOWN_COUNT; i++) {
        const struct shown *shown = &all_shown[i];
        char text[128];
        struct string_builder builder = {text, 0, sizeof text};
        if (!shown->is_set)
            continue;
        string_add(&builder, LIMITS_OPTION);
        string_add_number(&builder, shown->resource, 10);
        string_add(&builder, ":");
        string_add_number(&builder, shown->limit.rlim_cur, 10);
        string_add(&builder, ":");
        string_add_number(&builder, shown->limit.rlim_max, 10);
        words[count++] = text_keep(text);
    }
    return count;
}

void limits_take_option(const char *value)
{
    uint64_t numbers[3] = {0};
    for (unsigned i = 0; i < 3; i++) {
        numbers[i] = text_to_number(value, &value);
        value += *value == ':';
    }
    struct shown *shown = find_shown(numbers[0]);
    if (!shown)
        return;
    shown->is_set = true;
    shown->limit = (struct rlimit64){numbers[1], numbers[2]};
}

/* ---- memory ---- */

/* The stack grows, and what is kept for that is not counted. */
static uint64_t bytes_mapped(bool data)
{
    uint64_t sum = 0;
    struct mapping mapping;
    for (uint64_t at = 0; maps_next(at, &mapping); at = mapping.end) {
        bool is_stack = (on_stack >= mapping.start && on_stack < mapping.end) ||
                        mapping.end == PLACES_STACK_TOP;
        bool is_data = (mapping.protection & PROT_WRITE) && !(mapping.flags & MAPPING_SHARED);
        if (!is_stack && (is_data || !data))
            sum += mapping.end - mapping.start;
    }
    return sum;
}

bool limits_allow(uint64_t size_bytes, bool data)
{
    for (unsigned i = 0; i < SHOWN_COUNT; i++) {
        const struct shown *shown = &all_shown[i];
        bool of_data = shown->resource == RLIMIT_DATA;
        if (!shown->is_memory || !shown->is_set || (of_data && !data))
            continue;
        uint64_t most = shown->limit.rlim_cur, used = bytes_mapped(of_data);
        if (used > most || size_bytes > most - used)
            return false;
    }
    return true;
}

static void tell_of_memory(bool shown_ones)
{
    for (unsigned i = 0; i < SHOWN_COUNT; i++) {
        const struct shown *shown = &all_shown[i];
        if (!shown->is_memory || !shown->is_set)
            continue;
        uint64_t hard = kernels(shown->resource).rlim_max, soft = shown->limit.rlim_cur;
        tell_kernel(shown->resource, shown_ones && soft < hard ? soft : hard, hard);
    }
}

void limits_before_exec(void)
{
    tell_of_memory(true);
}

void limits_exec_failed(void)
{
    tell_of_memory(false);
}

/* ---- system calls ---- */

static struct rlimit64 get(const struct shown *shown)
{
    return shown->is_set ? shown->limit : kernels(shown->resource);
}

static long set(struct shown *shown, struct rlimit64 limit)
{
    enum { ROOT = 0 };
    struct rlimit64 real = kernels(shown->resource);
    if (limit.rlim_cur > limit.rlim_max)
        return -EINVAL;
    if (limit.rlim_max > get(shown).rlim_max && sys(geteuid) != ROOT)
        return -EPERM;
    uint64_t hard = limit.rlim_max > real.rlim_max ? limit.rlim_max : real.rlim_max;
    long result = tell_kernel(shown->resource, shown->is_memory ? hard : limit.rlim_cur, hard);
    if (sys_failed(result))
        return result;
    shown->is_set = true;
    shown->limit = limit;
    return 0;
}

/* A child of vfork has the memory of its maker, but limits of its own. */
static long get_and_set(struct native_thread *thread, struct shown *shown, uint64_t old,
                        uint64_t new)
{
    struct rlimit64 limit, before = get(shown);
    if (thread->is_vfork)
        return syscalls_pass_on(thread);
    if (new && !gate_copy(&limit, (void *)new, sizeof limit))
        return -EFAULT;
    long result = new ? set(shown, limit) : 0;
    if (!result && old && !gate_copy((void *)old, &before, sizeof before))
        return -EFAULT;
    return result;
}

long limits_call_getrlimit(struct native_thread *thread)
{
    struct shown *shown = find_shown((uint32_t)thread->registers[REGISTER_RDI]);
    uint64_t address = thread->registers[REGISTER_RSI];
    if (!shown || !address)
        return syscalls_pass_on(thread);
    return get_and_set(thread, shown, address, 0);
}

long limits_call_setrlimit(struct native_thread *thread)
{
    struct shown *shown = find_shown((uint32_t)thread->registers[REGISTER_RDI]);
    uint64_t address = thread->registers[REGISTER_RSI];
    if (!shown || !address)
        return syscalls_pass_on(thread);
    return get_and_set(thread, shown, 0, address);
}

long limits_call_prlimit(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint32_t process = r[REGISTER_RDI];
    struct shown *shown = find_shown((uint32_t)r[REGISTER_RSI]);
    if (!shown || (process && process != sys(getpid)))
        return syscalls_pass_on(thread);
    return get_and_set(thread, shown, r[REGISTER_R10], r[REGISTER_RDX]);
}

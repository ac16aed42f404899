/*
 * syscalls.c: see syscalls.h.
 *
 * Most calls go to the kernel as they are. A table says which do not: those that change the
 * memory map, the threads and processes, the signals, and those through which the program would
 * see the engine.
 */
#include "engines/native/syscalls.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/exec.h"
#include "engines/native/files.h"
#include "engines/native/gate.h"
#include "engines/native/limits.h"
#include "engines/native/maps.h"
#include "engines/native/places.h"
#include "engines/native/proc.h"
#include "engines/native/record.h"
#include "engines/native/repeatable.h"
#include "engines/native/seccomp.h"
#include "engines/native/shared_memory.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include "engines/native/waits.h"
#include <asm/prctl.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/mman.h>

struct lock heap_lock;

static struct {
    uint64_t start, end; /* of the heap; end as the program set it */
} heap;

long syscalls_pass_on(struct native_thread *thread)
{
    bool begun;
    long result = gate_call(thread->registers, &begun);
    return begun ? result : SYSCALL_NOT_BEGUN;
}

/* ---- memory ---- */

static void forget_code(uint64_t start, uint64_t end)
{
    lock_take(&cache.lock);
    cache_invalidate(start, end);
    code_map_remove(&core.code, start, end);
    lock_give(&cache.lock);
}

static bool had_code(uint64_t start, uint64_t end)
{
    struct mapping mapping;
    for (uint64_t at = start; maps_next(at, &mapping) && mapping.start < end; at = mapping.end)
        if (mapping.protection & PROT_EXEC)
            return true;
    return false;
}

void syscalls_code_gone(uint64_t start, uint64_t end)
{
    if (had_code(start, end))
        forget_code(start, end);
}

void syscalls_code_changed(uint64_t start, uint64_t end)
{
    if (!had_code(start, end))
        return;
    lock_take(&cache.lock);
    cache_invalidate(start, end);
    lock_give(&cache.lock);
}

uint64_t syscalls_before_unmapping(uint64_t start, uint64_t end)
{
    syscalls_code_changed(start, end);
    return maps_newest();
}

/* Libraries are wanted below 2 GB (layout.h); the dynamic loader gives itself away by
 * MAP_DENYWRITE, which nobody else has used for decades. */
static bool wants_low_place(const uint64_t *r)
{
    uint64_t flags = r[REGISTER_R10];
    bool private_file =
        (flags & MAP_PRIVATE) && !(flags & (MAP_ANONYMOUS | MAP_FIXED | MAP_FIXED_NOREPLACE));
    return !r[REGISTER_RDI] && private_file && (int)r[REGISTER_R8] >= 0 &&
           ((flags & MAP_DENYWRITE) || (r[REGISTER_RDX] & PROT_EXEC));
}

static long map_low(struct native_thread *thread)
{
    uint64_t place = load_low_place(thread->registers[REGISTER_RSI]);
    if (!place)
        return -ENOMEM;
    const uint64_t *r = thread->registers;
    return sys(mmap, place, r[REGISTER_RSI], r[REGISTER_RDX], r[REGISTER_R10] | MAP_FIXED_NOREPLACE,
               r[REGISTER_R8], r[REGISTER_R9]);
}

/* --repeatable: where the reference engine would have it. Another thread may be faster. */
static long map_repeatably(const uint64_t *r)
{
    long result = -EEXIST;
    while (result == -EEXIST) {
        uint64_t place = places_find(r[REGISTER_RDI], r[REGISTER_RSI]);
        if (!place)
            return -ENOMEM;
        result = sys(mmap, place, r[REGISTER_RSI], r[REGISTER_RDX],
                     (r[REGISTER_R10] & ~(uint64_t)MAP_32BIT) | MAP_FIXED_NOREPLACE, r[REGISTER_R8],
                     r[REGISTER_R9]);
    }
    return result;
}

static long map_floating(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (options.repeatable)
        return map_repeatably(r);
    return wants_low_place(r) ? map_low(thread) : -ENOMEM;
}

/* Sanitizers make huge ranges inaccessible that nobody should use, and the engine lies in one: it
 * is done around the engine. */
static long reserve_around_engine(uint64_t start, uint64_t end, uint64_t flags)
{
    const uint64_t holes[][2] = {{CONTEXTS_START, LOW_END}, {ENGINE_START, ARENA_END}};
    uint64_t at = start;
    for (unsigned i = 0; i <= 2; i++) {
        uint64_t next = i < 2 ? holes[i][0] : end;
        next = next < end ? next : end;
        if (at < next) {
            long got = sys(mmap, at, next - at, PROT_NONE, flags, -1, 0);
            if ((uint64_t)got != at)
                return got;
            maps_add((struct mapping){.start = at, .end = next});
        }
        if (i < 2 && holes[i][1] > at)
            at = holes[i][1];
    }
    return start;
}

static long call_mmap(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t size = page_up(r[REGISTER_RSI]), flags = r[REGISTER_R10];
    bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    if ((flags & MAP_FIXED) && (flags & MAP_ANONYMOUS) && !r[REGISTER_RDX] &&
        engine_owns(r[REGISTER_RDI], r[REGISTER_RDI] + size))
        return reserve_around_engine(r[REGISTER_RDI], r[REGISTER_RDI] + size, flags);
    if (fixed && engine_owns(r[REGISTER_RDI], r[REGISTER_RDI] + size))
        return -ENOMEM;
    bool data = (r[REGISTER_RDX] & PROT_WRITE) && (flags & MAP_PRIVATE);
    if (!(flags & MAP_FIXED) && !limits_allow(size, data))
        return -ENOMEM;
    if (flags & MAP_FIXED)
        syscalls_code_gone(r[REGISTER_RDI], r[REGISTER_RDI] + size);
    long result = fixed ? -ENOMEM : map_floating(thread);
    if (sys_failed(result))
        result = syscalls_pass_on(thread);
    if (sys_failed(result))
        return result;
    bool from_file = !(flags & MAP_ANONYMOUS);
    maps_add((struct mapping){
        .start = result,
        .end = result + size,
        .file_offset = r[REGISTER_R9],
        .protection = r[REGISTER_RDX],
        .flags = (from_file ? MAPPING_FILE : 0) | (flags & MAP_SHARED ? MAPPING_SHARED : 0),
    });
    if (from_file && (r[REGISTER_RDX] & PROT_EXEC)) {
        lock_take(&cache.lock);
        record_add_file(result, result + size, r[REGISTER_R9], (int)r[REGISTER_R8]);
        lock_give(&cache.lock);
    }
    return result;
}

static long call_munmap(struct native_thread *thread)
{
    uint64_t start = thread->registers[REGISTER_RDI];
    uint64_t end = start + page_up(thread->registers[REGISTER_RSI]);
    if (end > start && engine_owns(start, end))
        return 0;
    bool code = had_code(start, end);
    uint64_t newest = syscalls_before_unmapping(start, end);
    long result = syscalls_pass_on(thread);
    if (sys_failed(result))
        return result;
    if (code) /* first: what is in no row any more may be given to another library */
        forget_code(start, end);
    maps_remove_until(start, end, newest);
    load_low_freed(start, end);
    return result;
}

static long call_mprotect(struct native_thread *thread)
{
    uint64_t start = thread->registers[REGISTER_RDI];
    uint64_t end = start + page_up(thread->registers[REGISTER_RSI]);
    uint32_t protection = thread->registers[REGISTER_RDX];
    if (end > start && engine_owns(start, end))
        return -EACCES;
    bool code = had_code(start, end);
    long result = syscalls_pass_on(thread);
    if (sys_failed(result))
        return result;
    struct mapping stack;
    if ((protection & PROT_GROWSDOWN) && maps_find(start, &stack))
        start = stack.start;
    maps_protect(start, end, protection & (PROT_READ | PROT_WRITE | PROT_EXEC));
    if (code) {
        lock_take(&cache.lock);
        cache_invalidate(start, end);
        lock_give(&cache.lock);
    }
    return result;
}

/* Memory that is given back has what is in the file again, or nothing: code too. */
static long call_madvise(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t start = r[REGISTER_RDI], end = start + page_up(r[REGISTER_RSI]);
    long result = syscalls_pass_on(thread);
    bool given_back = r[REGISTER_RDX] == MADV_DONTNEED || r[REGISTER_RDX] == MADV_FREE ||
                      r[REGISTER_RDX] == MADV_REMOVE || r[REGISTER_RDX] == MADV_DONTNEED_LOCKED;
    if (given_back && start < end && !sys_failed(result))
        syscalls_code_changed(start, end);
    return result;
}

/* --repeatable: what grows stays if there is room behind it, else it goes to the first gap. */
static long move_repeatably(struct native_thread *thread, uint64_t old_end, uint64_t new_size)
{
    const uint64_t *r = thread->registers;
    const uint64_t flags = r[REGISTER_R10];
    uint64_t old = r[REGISTER_RDI], place = 0;
    bool moves = options.repeatable && (flags & MREMAP_MAYMOVE) && !(flags & MREMAP_FIXED) &&
                 (flags & MREMAP_DONTUNMAP ||
                  (old + new_size > old_end && !places_free(old_end, old + new_size)));
    if (moves)
        place = places_find(0, new_size);
    if (!place)
        return syscalls_pass_on(thread);
    return sys(mremap, old, r[REGISTER_RSI], r[REGISTER_RDX], flags | MREMAP_FIXED, place);
}

static long call_mremap(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    uint64_t old = r[REGISTER_RDI], old_size = page_up(r[REGISTER_RSI]);
    uint64_t new_size = page_up(r[REGISTER_RDX]);
    if (engine_owns(old, old + old_size))
        return -EFAULT;
    if ((r[REGISTER_R10] & MREMAP_FIXED) && engine_owns(r[REGISTER_R8], r[REGISTER_R8] + new_size))
        return -ENOMEM;
    struct mapping mapping;
    bool known = maps_find(old, &mapping);
    bool data = known && (mapping.protection & PROT_WRITE) && !(mapping.flags & MAPPING_SHARED);
    if (new_size > old_size && !limits_allow(new_size - old_size, data))
        return -ENOMEM;
    bool code = had_code(old, old + old_size);
    uint64_t newest = syscalls_before_unmapping(old, old + old_size);
    long result = move_repeatably(thread, old + old_size, new_size);
    if (sys_failed(result))
        return result;
    if (code)
        forget_code(old, old + old_size);
    if (!(r[REGISTER_R10] & MREMAP_DONTUNMAP) && old_size)
        maps_remove_until(old, old + old_size, newest);
    syscalls_code_gone(result, result + new_size);
    mapping.file_offset += known ? old - mapping.start : 0;
    mapping.start = result;
    mapping.end = result + new_size;
    if (known)
        maps_add(mapping);
    return result;
}

/* The heap is made of ordinary mappings, each put right after the last. Like the kernel's, it
 * ends where something else is in the way. */
static long call_brk(struct native_thread *thread)
{
    uint64_t wanted = thread->registers[REGISTER_RDI];
    lock_take(&heap_lock);
    uint64_t old_end = page_up(heap.end), new_end = page_up(wanted);
    long result = heap.end;
    if (wanted < heap.start)
        goto done;
    if (new_end > old_end) {
        struct mapping in_the_way;
        bool taken = engine_owns(old_end, new_end) || !limits_allow(new_end - old_end, true) ||
                     (options.repeatable && new_end > places_heap_end()) ||
                     (maps_next(old_end, &in_the_way) && in_the_way.start < new_end);
        long got = taken ? -ENOMEM
                         : sys(mmap, old_end, new_end - old_end, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if ((uint64_t)got != old_end)
            goto done;
        maps_add((struct mapping){
            .start = old_end, .end = new_end, .protection = PROT_READ | PROT_WRITE});
    } else if (new_end < old_end) {
        uint64_t newest = maps_newest();
        sys(munmap, new_end, old_end - new_end);
        maps_remove_until(new_end, old_end, newest);
    }
    result = heap.end = wanted;
done:
    lock_give(&heap_lock);
    return result;
}

/* ---- the rest ---- */

_Noreturn static void stop_for_gs(void)
{
    lock_take(&cache.lock);
    record_finish(STATUS_FAILED);
    fail("the program uses the gs register, which the native engine needs for itself; "
         "use --engine=valgrind",
         NULL);
}

static long call_arch_prctl(struct native_thread *thread)
{
    switch (thread->registers[REGISTER_RDI]) {
    case ARCH_SET_GS:
        if (thread->registers[REGISTER_RSI])
            stop_for_gs();
        return 0;
    case ARCH_GET_GS:
        return gate_copy((void *)thread->registers[REGISTER_RSI], &(uint64_t){0}, 8) ? 0 : -EFAULT;
    case 0x5001 ... 0x5005:
        return -EOPNOTSUPP; /* shadow stacks */
    default:
        return syscalls_pass_on(thread);
    }
}

static long call_sigreturn(struct native_thread *thread)
{
    signals_call_return(thread);
}

/* SIGKILL may be meant for this very process, and then there is no other time to write. If it is
 * not, the file is written again at the end. */
static long pass_on_signal(struct native_thread *thread, uint64_t number)
{
    if (number == SIGKILL && !thread->is_vfork) {
        lock_take(&cache.lock);
        record_finish(128 + SIGKILL);
        lock_give(&cache.lock);
    }
    return syscalls_pass_on(thread);
}

static long call_kill(struct native_thread *thread)
{
    return pass_on_signal(thread, thread->registers[REGISTER_RSI]);
}

static long call_tgkill(struct native_thread *thread)
{
    return pass_on_signal(thread, thread->registers[REGISTER_RDX]);
}

static long call_set_user(struct native_thread *thread)
{
    uint64_t arguments[2] = {thread->registers[REGISTER_RDI], thread->registers[REGISTER_RSI]};
    files_before_user(thread->registers[REGISTER_RAX], arguments);
    return syscalls_pass_on(thread);
}

static long call_set_root(struct native_thread *thread)
{
    files_before_root();
    return syscalls_pass_on(thread);
}

static long call_set_rules(struct native_thread *thread)
{
    files_before_rules(thread->registers[REGISTER_RDI]);
    return syscalls_pass_on(thread);
}

/* Whoever traces a child wants to see it as it is: the next program it executes runs outside the
 * recording. */
static long call_ptrace(struct native_thread *thread)
{
    long result = syscalls_pass_on(thread);
    if (!thread->registers[REGISTER_RDI] && !result) /* PTRACE_TRACEME */
        thread->is_traced = true;
    return result;
}

/* The reference engine does not know this one, and libc does without. */
static long call_clone3(struct native_thread *thread)
{
    return options.repeatable ? -ENOSYS : threads_call_clone3(thread);
}

/* Nor this one. And whoever has the turn would keep it while it waits for a page, as that is in no
 * call, and whoever is to bring the page would wait for the turn. */
static long call_userfaultfd(struct native_thread *thread)
{
    return options.repeatable ? -ENOSYS : syscalls_pass_on(thread);
}

/* A kernel that has no restartable sequences has no barrier for them either; allocators that find the
 * one and not the other complain. */
static long call_membarrier(struct native_thread *thread)
{
    const long sequences =
        MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
    const int command = (int)thread->registers[REGISTER_RDI];
    if (command & sequences)
        return -EINVAL;
    long result = syscalls_pass_on(thread);
    return command == MEMBARRIER_CMD_QUERY && result > 0 ? result & ~sequences : result;
}

static long call_none(struct native_thread *thread)
{
    (void)thread;
    return -ENOSYS;
}

typedef long (*syscall_function)(struct native_thread *thread);

static const syscall_function table[512] = {
    [__NR_mmap] = call_mmap,
    [__NR_munmap] = call_munmap,
    [__NR_mprotect] = call_mprotect,
    [__NR_pkey_mprotect] = call_mprotect,
    [__NR_madvise] = call_madvise,
    [__NR_mremap] = call_mremap,
    [__NR_shmat] = shared_memory_call_attach,
    [__NR_shmdt] = shared_memory_call_detach,
    [__NR_brk] = call_brk,
    [__NR_exit_group] = threads_call_exit_group,
    [__NR_exit] = threads_call_exit,
    [__NR_clone] = threads_call_clone,
    [__NR_clone3] = call_clone3,
    [__NR_fork] = threads_call_fork,
    [__NR_vfork] = threads_call_vfork,
    [__NR_execve] = exec_call_execve,
    [__NR_execveat] = exec_call_execveat,
    [__NR_kill] = call_kill,
    [__NR_tkill] = call_kill,
    [__NR_tgkill] = call_tgkill,
    [__NR_readlink] = proc_call_readlink,
    [__NR_readlinkat] = proc_call_readlinkat,
    [__NR_open] = proc_call_open,
    [__NR_openat] = proc_call_openat,
    [__NR_write] = proc_call_write,
    [__NR_writev] = proc_call_write,
    [__NR_pwrite64] = proc_call_pwrite,
    [__NR_pwritev] = proc_call_pwrite,
    [__NR_pwritev2] = proc_call_pwrite,
    [__NR_stat] = proc_call_path,
    [__NR_access] = proc_call_path,
    [__NR_newfstatat] = proc_call_newfstatat,
    [__NR_statx] = proc_call_statx,
    [__NR_faccessat] = proc_call_path_at,
    [__NR_faccessat2] = proc_call_path_at,
    [__NR_arch_prctl] = call_arch_prctl,
    [__NR_ptrace] = call_ptrace,
    [__NR_getrlimit] = limits_call_getrlimit,
    [__NR_setrlimit] = limits_call_setrlimit,
    [__NR_prlimit64] = limits_call_prlimit,
    [__NR_setuid] = call_set_user,
    [__NR_setreuid] = call_set_user,
    [__NR_setresuid] = call_set_user,
    [__NR_chroot] = call_set_root,
    [__NR_pivot_root] = call_set_root,
    [__NR_landlock_restrict_self] = call_set_rules,
    [__NR_prctl] = seccomp_call_prctl,
    [__NR_seccomp] = seccomp_call_seccomp,
    [__NR_clock_gettime] = repeatable_call_clock_gettime,
    [__NR_gettimeofday] = repeatable_call_gettimeofday,
    [__NR_time] = repeatable_call_time,
    [__NR_clock_nanosleep] = repeatable_call_clock_nanosleep,
    [__NR_nanosleep] = repeatable_call_nanosleep,
    [__NR_pselect6] = repeatable_call_pselect,
    [__NR_poll] = repeatable_call_events,
    [__NR_ppoll] = repeatable_call_events,
    [__NR_select] = repeatable_call_events,
    [__NR_epoll_wait] = repeatable_call_events,
    [__NR_epoll_pwait] = repeatable_call_events,
    [__NR_epoll_pwait2] = repeatable_call_events,
    [__NR_rt_sigtimedwait] = repeatable_call_events,
    [__NR_futex] = repeatable_call_futex,
    [__NR_getrandom] = repeatable_call_getrandom,
    [__NR_userfaultfd] = call_userfaultfd,
    [__NR_rseq] = call_none,
    [__NR_membarrier] = call_membarrier,
    [__NR_rt_sigaction] = signals_call_action,
    [__NR_rt_sigprocmask] = signals_call_mask,
    [__NR_rt_sigreturn] = call_sigreturn,
    [__NR_sigaltstack] = signals_call_stack,
};

void syscalls_init(const struct program *program)
{
    heap.start = heap.end = program->break_start;
}

bool syscalls_perform(struct native_thread *thread)
{
    if (seccomp_is_on(thread) && !seccomp_allows(thread))
        return true;
    uint64_t number = thread->registers[REGISTER_RAX];
    syscall_function function = number < 512 ? table[number] : NULL;
    uint64_t next = thread->pc;
    uint64_t arguments[2] = {thread->registers[REGISTER_RDI], thread->registers[REGISTER_RSI]};
    waits_before_call(thread);
    long result = function ? function(thread) : syscalls_pass_on(thread);
    if (result == SYSCALL_NOT_BEGUN)
        return false;
    if (jit_wants_call(&core.jit, number)) {
        lock_take(&cache.lock);
        jit_system_call(&core.jit, number, arguments, result);
        lock_give(&cache.lock);
    }
    thread->registers[REGISTER_RAX] = result;
    thread->registers[REGISTER_RCX] = next;
    thread->registers[REGISTER_R11] = thread->flags;
    return true;
}

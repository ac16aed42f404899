/*
 * events.c: what the core of Valgrind tells: mappings, threads, signals, forks, system calls.
 */
#include "engine.h"

#include "core/platform.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_libcsignal.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

static struct thread **threads; /* by Valgrind's number, which is used again */
static ULong next_checkpoint;
static UInt next_progress_ms;
static ULong forks;

Bool engine_counts_instructions(void)
{
    return options.budget || options.checkpoint || options.progress;
}

/* ---- mappings ---- */

static void code_mapped(Addr start, SizeT size_bytes)
{
    const NSegment *segment = VG_(am_find_nsegment)(start);
    const HChar *path = segment ? VG_(am_get_filename)(segment) : NULL;

    if (!path || segment->kind != SkFileC)
        return;
    code_map_add_file(&core.code, path, start, start + size_bytes,
                      segment->offset + (start - segment->start));
}

static void on_startup_mapping(Addr start, SizeT size_bytes, Bool r, Bool w, Bool x, ULong handle)
{
    (void)r;
    (void)w;
    (void)handle;
    if (x)
        code_mapped(start, size_bytes);
}

static void on_mapping(Addr start, SizeT size_bytes, Bool r, Bool w, Bool x, ULong handle)
{
    code_map_remove(&core.code, start, start + size_bytes);
    on_startup_mapping(start, size_bytes, r, w, x, handle);
}

static void on_protection(Addr start, SizeT size_bytes, Bool r, Bool w, Bool x)
{
    on_startup_mapping(start, size_bytes, r, w, x, 0);
}

static void on_unmapping(Addr start, SizeT size_bytes)
{
    code_map_remove(&core.code, start, start + size_bytes);
}

/* ---- threads ---- */

static void leave_running(void)
{
    if (!running)
        return;
    running->own = hot;
    running->hot = &running->own;
    running = NULL;
}

/* Inline code finds `hot` in a shadow register; and the first block, in mid-function for all but
 * the first thread, expects to be in its function's context. */
static void begin_thread(ThreadId tid)
{
    struct hot *address = &hot;

    VG_(set_shadow_regs_area)(tid, 1, 0, sizeof address, (const UChar *)&address);
    core_mismatch(&core, running, VG_(get_IP)(tid), VG_(get_SP)(tid));
}

static void enter_thread(ThreadId tid)
{
    if (!threads)
        threads = platform_allocate((VG_N_THREADS + 1) * sizeof *threads);
    struct thread *thread = threads[tid];
    ULong instructions = hot.instructions;

    if (!thread || thread != running) {
        leave_running();
        Bool is_new = !thread;
        if (is_new)
            thread = threads[tid] = core_thread_new(&core, VG_(get_SP)(tid));
        hot = thread->own;
        hot.instructions = instructions; /* of the process, not of the thread */
        thread->hot = &hot;
        running = thread;
        if (is_new)
            begin_thread(tid);
    }
    core_resume(&core, running);
}

/* A handler is about to run its first instruction. */
static Bool handler_begins;

static void on_start_client_code(ThreadId tid, ULong blocks)
{
    (void)blocks;
    enter_thread(tid);
    if (handler_begins)
        core_mismatch(&core, running, VG_(get_IP)(tid), VG_(get_SP)(tid));
    handler_begins = False;
    core_keep_room(&core, running);
    if (options.checkpoint && hot.instructions >= next_checkpoint) {
        if (next_checkpoint)
            output_write(RAW_CHECKPOINT, 0);
        next_checkpoint = hot.instructions + options.checkpoint;
    }
    if (options.progress) {
        UInt now_ms = VG_(read_millisecond_timer)();
        if (now_ms >= next_progress_ms) {
            next_progress_ms = now_ms + 200;
            output_progress();
        }
    }
}

static void on_thread_create(ThreadId tid, ThreadId child)
{
    (void)child;
    if (tid != VG_INVALID_THREADID) /* the first thread is there already */
        turns_expect();
}

static void on_thread_exit(ThreadId tid)
{
    struct thread *thread = threads[tid];

    if (VG_(get_running_tid)() != tid) /* its creator says so: it never came to be */
        turns_expect_no_more();
    if (!thread)
        return;
    if (thread == running)
        leave_running();
    core_thread_end(&core, thread);
    threads[tid] = NULL;
}

/* ---- signals ---- */

static Bool is_fault_signal(Int number)
{
    return number == VKI_SIGSEGV || number == VKI_SIGBUS || number == VKI_SIGFPE ||
           number == VKI_SIGILL || number == VKI_SIGTRAP;
}

/* A fault in the middle of a block: what comes after it has not run. */
static void take_back_after_fault(ThreadId tid)
{
    const struct block_info *info = block_executing();
    Addr pc = VG_(get_IP)(tid);

    if (!info || pc < info->address)
        return;
    block_take_back(running, block_instructions_before(info, pc));
    hot.block = 0;
}

static void on_signal(ThreadId tid, Int number, Bool alternate)
{
    enter_thread(tid);
    if (is_fault_signal(number))
        take_back_after_fault(tid);
    core_signal_in(&core, running, number, VG_(get_SP)(tid), alternate);
    handler_begins = True;
}

static void on_signal_return(ThreadId tid, Int number)
{
    (void)number;
    enter_thread(tid);
    core_signal_out(&core, running, VG_(get_IP)(tid), VG_(get_SP)(tid));
    /* The handler may have changed where the program goes on. */
    core_mismatch(&core, running, VG_(get_IP)(tid), VG_(get_SP)(tid));
}

/* ---- processes ---- */

static void on_fork_parent(ThreadId tid)
{
    (void)tid;
    forks++;
}

static void on_fork_child(ThreadId tid)
{
    enter_thread(tid);
    for (UInt i = 0; i < VG_N_THREADS; i++)
        if (i != tid)
            threads[i] = NULL;
    core_forked(&core, running);
    output_forked(forks + 1);
    forks = 0;
}

/* What replaces or kills the process without another word comes now. If it does not happen after
 * all, the file is written again at the end. */
static void on_system_call(ThreadId tid, UInt number, UWord *arguments, UInt count)
{
    Bool kills = (number == __NR_kill && arguments[1] == VKI_SIGKILL) ||
                 (number == __NR_tkill && arguments[1] == VKI_SIGKILL) ||
                 (number == __NR_tgkill && arguments[2] == VKI_SIGKILL);

    (void)count;
    repeatable_before_call(tid, number, arguments);
    if (number == __NR_execve || number == __NR_execveat) {
        turns_before_exec();
        output_write(RAW_EXIT, 0);
    } else if (kills) {
        output_write(RAW_KILLED, 128 + VKI_SIGKILL);
    }
}

static void after_system_call(ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes res)
{
    (void)count;
    repeatable_after_call(tid, number, arguments, res);
    if (jit_wants_call(&core.jit, number))
        jit_system_call(&core.jit, number, (const uint64_t *)arguments,
                        sr_isError(res) ? -(int64_t)sr_Err(res) : (int64_t)sr_Res(res));
    blocks_discard_stale();
}

void events_register(void)
{
    VG_(track_new_mem_startup)(on_startup_mapping);
    VG_(track_new_mem_mmap)(on_mapping);
    VG_(track_change_mem_mprotect)(on_protection);
    VG_(track_die_mem_munmap)(on_unmapping);
    VG_(track_start_client_code)(on_start_client_code);
    VG_(track_pre_thread_ll_create)(on_thread_create);
    VG_(track_pre_thread_ll_exit)(on_thread_exit);
    VG_(track_pre_deliver_signal)(on_signal);
    VG_(track_post_deliver_signal)(on_signal_return);
    VG_(atfork)(NULL, on_fork_parent, on_fork_child);
    VG_(needs_syscall_wrapper)(on_system_call, after_system_call);
}

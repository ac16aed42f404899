/*
 * events.c: what the core of Valgrind tells: mappings, threads, signals, forks, system calls.
 */
#include "children.h"
#include "counters.h"
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

#include "libvex_guest_amd64.h"

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

static void on_unmapping(Addr start, SizeT size_bytes)
{
    platform_forget_readable();
    code_map_remove(&core.code, start, start + size_bytes);
}

static void on_mapping(Addr start, SizeT size_bytes, Bool r, Bool w, Bool x, ULong handle)
{
    on_unmapping(start, size_bytes);
    on_startup_mapping(start, size_bytes, r, w, x, handle);
}

static void on_protection(Addr start, SizeT size_bytes, Bool r, Bool w, Bool x)
{
    platform_forget_readable();
    if (w && x)
        changes_expected(start, start + size_bytes);
    on_startup_mapping(start, size_bytes, r, w, x, 0);
}

/* ---- the hot words ---- */

/* While the program runs they are in the shadow registers of its thread, where inline code has them;
 * otherwise in thread->own. So they are whole whatever Valgrind does to those registers in between:
 * it saves them when a handler begins, and restores what it saved. */
static struct hot nobody; /* while no thread runs */
struct hot *hot = &nobody;

/* From a thread's state in Valgrind to its shadow registers; 0 until the first block has run. */
static UWord shadow_offset;

VG_REGPARM(1) void slow_hello(UWord registers)
{
    Addr state = (Addr)VG_(get_ThreadState)(VG_(get_running_tid)());

    shadow_offset = registers + sizeof(VexGuestAMD64State) - state;
    hot = running->hot = (struct hot *)(state + shadow_offset);
}

static void hot_lend(ThreadId tid)
{
    VG_(set_shadow_regs_area)(tid, 1, 0, sizeof *hot, (const UChar *)hot);
    if (shadow_offset)
        hot = running->hot = (struct hot *)((Addr)VG_(get_ThreadState)(tid) + shadow_offset);
}

static Bool hot_is_lent(void)
{
    return running && running->hot != &running->own;
}

static void hot_return(void)
{
    if (!hot_is_lent())
        return;
    running->own = *hot;
    hot = running->hot = &running->own;
}

/* ---- threads ---- */

static void enter_thread(ThreadId tid)
{
    if (!threads)
        threads = platform_allocate((VG_N_THREADS + 1) * sizeof *threads);
    Bool is_new = !threads[tid];

    if (is_new || threads[tid] != running) {
        ULong instructions = hot->instructions; /* of the process, not of the thread */
        if (is_new)
            threads[tid] = core_thread_new(&core, VG_(get_SP)(tid));
        running = threads[tid];
        hot = running->hot;
        hot->instructions = instructions;
    }
    /* The first block, in mid-function for all but the first thread, expects to be in its
     * function's context. */
    if (is_new)
        core_mismatch(&core, running, VG_(get_IP)(tid), VG_(get_SP)(tid));
    core_resume(&core, running);
}

/* A handler is about to run its first instruction. */
static Bool handler_begins;

static void on_start_client_code(ThreadId tid, ULong blocks)
{
    counters_keep_room(blocks);
    environment_begin(tid);
    enter_thread(tid);
    if (handler_begins)
        core_mismatch(&core, running, VG_(get_IP)(tid), VG_(get_SP)(tid));
    handler_begins = False;
    core_keep_room(&core, running);
    if (options.checkpoint && hot->instructions >= next_checkpoint) {
        if (next_checkpoint)
            output_write(RAW_CHECKPOINT, 0);
        next_checkpoint = hot->instructions + options.checkpoint;
    }
    if (options.progress) {
        UInt now_ms = VG_(read_millisecond_timer)();
        if (now_ms >= next_progress_ms) {
            next_progress_ms = now_ms + 200;
            output_progress();
        }
    }
    children_follow_core();
    hot_lend(tid);
}

static void on_stop_client_code(ThreadId tid, ULong blocks)
{
    (void)tid;
    (void)blocks;
    hot_return();
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
    if (thread == running) {
        nobody.instructions = hot->instructions;
        hot = &nobody;
        running = NULL;
    }
    core_thread_end(&core, thread);
    threads[tid] = NULL;
}

/* ---- signals ---- */

void events_fault(ThreadId tid)
{
    Addr pc = VG_(get_IP)(tid);
    const struct block_info *info = block_stopped_at(pc);

    if (info)
        block_take_back(info, pc);
    hot->block = 0;
}

void __real_vgPlain_synth_fault(ThreadId tid);
void __wrap_vgPlain_synth_fault(ThreadId tid);

/* A block can ask for a fault itself: it is left, and Valgrind makes the signal. */
void __wrap_vgPlain_synth_fault(ThreadId tid)
{
    events_fault(tid);
    __real_vgPlain_synth_fault(tid);
}

/* Of a signal that has a handler. */
static void on_signal(ThreadId tid, Int number, Bool alternate)
{
    hot_return();
    enter_thread(tid);
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
    /* Then the engine may be allowed as little as the program. */
    Bool confines =
        number == __NR_seccomp || (number == __NR_prctl && arguments[0] == VKI_PR_SET_SECCOMP);

    (void)count;
    repeatable_before_call(tid, number, arguments);
    if (number == __NR_execve || number == __NR_execveat) {
        turns_before_exec();
        environment_note_exec(arguments[number == __NR_execve ? 1 : 2]);
        output_write(RAW_EXIT, 0);
    } else if (kills || confines) {
        output_write(RAW_KILLED, 128 + VKI_SIGKILL);
    } else if (number == __NR_setuid) {
        output_before_user(arguments[0]);
    } else if (number == __NR_setreuid || number == __NR_setresuid) {
        output_before_user(arguments[1]);
    }
}

static void after_system_call(ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes res)
{
    (void)count;
    if (number == __NR_execve || number == __NR_execveat)
        environment_exec_failed();
    if (number == __NR_madvise)
        changes_expected(arguments[0], arguments[0] + arguments[1]);
    if (number == __NR_mmap && !sr_isError(res))
        changes_note_mapping(sr_Res(res), arguments[2], arguments[3]);
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
    VG_(track_die_mem_brk)(on_unmapping);
    VG_(track_start_client_code)(on_start_client_code);
    VG_(track_stop_client_code)(on_stop_client_code);
    VG_(track_pre_thread_ll_create)(on_thread_create);
    VG_(track_pre_thread_ll_exit)(on_thread_exit);
    VG_(track_pre_deliver_signal)(on_signal);
    VG_(track_post_deliver_signal)(on_signal_return);
    VG_(atfork)(NULL, on_fork_parent, on_fork_child);
    VG_(needs_syscall_wrapper)(on_system_call, after_system_call);
}

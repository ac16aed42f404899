/*
 * linux.c: the Linux environment: static programs, and the system calls they need.
 *
 * A table says for each call what it is on the host and which arguments are pointers; those are
 * moved into the host's address space and the call is passed on, with the rights of whoever runs
 * trueflame. The kernel stops at the edge of the guest's memory, which is surrounded by pages
 * nobody may touch. What looks different on the host, or is about the guest's own memory and
 * signals, has a function of its own. Unknown calls return ENOSYS and are reported once.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include "engines/riscv/image.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

struct call {
    uint16_t number;  /* of the guest */
    int16_t host;     /* the host's number, where the call is passed on */
    uint8_t pointers; /* bit N: argument N is a pointer */
    const char *name;
    linux_call *emulate; /* NULL: passed on */
    bool restarts;       /* after a signal whose handler was installed with SA_RESTART */
};

/* Harmless to refuse, so not worth a report. */
static int64_t refuse(struct riscv_machine *machine, const uint64_t *arguments)
{
    (void)machine, (void)arguments;
    return -ENOSYS;
}

static int64_t succeed(struct riscv_machine *machine, const uint64_t *arguments)
{
    (void)machine, (void)arguments;
    return 0;
}

static int64_t exit_group(struct riscv_machine *machine, const uint64_t *arguments)
{
    machine_stop(machine, RISCV_EXITED, (int)(arguments[0] & 0xff), "%s", "");
    return 0;
}

static int64_t rt_sigreturn(struct riscv_machine *machine, const uint64_t *arguments)
{
    (void)arguments;
    linux_sigreturn(machine);
    return 0;
}

static int64_t uname_call(struct riscv_machine *machine, const uint64_t *arguments)
{
    char name[6][65] = {"Linux", "trueflame", "6.1.0", "#1", "riscv64", "(none)"};

    if (!gethostname(name[1], sizeof name[1]))
        name[1][64] = '\0';
    return memory_write(&machine->memory, arguments[0], name, sizeof name) ? 0 : -EFAULT;
}

/* The guest's limits are its own: the stack is as large as it is, whatever it asks for. */
static int64_t prlimit(struct riscv_machine *machine, const uint64_t *arguments)
{
    enum { STACK = 3 };
    uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};

    if (arguments[1] == STACK)
        limit[0] = linux_state_of(machine)->stack_bytes;
    if (arguments[3] && !memory_write(&machine->memory, arguments[3], limit, sizeof limit))
        return -EFAULT;
    return 0;
}

static int64_t getrlimit_call(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t as_prlimit[4] = {0, arguments[0], 0, arguments[1]};

    return prlimit(machine, as_prlimit);
}

static int64_t sched_getparam(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint32_t priority = 0;

    return memory_write(&machine->memory, arguments[1], &priority, sizeof priority) ? 0 : -EFAULT;
}

/* As many processors as the host has, though threads run in turns; a repeatable run has one. */
static int64_t sched_getaffinity(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t processors = 1;

    if (!machine->options.repeatable) {
        long size =
            syscall(SYS_sched_getaffinity, 0, arguments[1], linux_pointer(machine, arguments[2]));
        return size < 0 ? -errno : size;
    }
    if (arguments[1] < sizeof processors)
        return -EINVAL;
    return memory_write(&machine->memory, arguments[2], &processors, sizeof processors)
               ? (int64_t)sizeof processors
               : -EFAULT;
}

/* Its signal would be the process's, which must be the guest's. */
static int64_t setitimer_call(struct riscv_machine *machine, const uint64_t *arguments)
{
    if (!machine->options.owns_process)
        return -ENOSYS;
    return setitimer((int)arguments[0], linux_pointer(machine, arguments[1]),
                     linux_pointer(machine, arguments[2]))
               ? -errno
               : 0;
}

static int64_t getcpu_call(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint32_t zero = 0;

    for (unsigned i = 0; i < 2; i++)
        if (arguments[i] && !memory_write(&machine->memory, arguments[i], &zero, sizeof zero))
            return -EFAULT;
    return 0;
}

#define PASS(number, name, pointers)                                                               \
    {                                                                                              \
        number, SYS_##name, pointers, #name, NULL, true                                            \
    }
#define EMULATE(number, name, function)                                                            \
    {                                                                                              \
        number, 0, 0, #name, function, false                                                       \
    }
/* Goes on after a handler that was installed with SA_RESTART. */
#define RESTART(number, name, function)                                                            \
    {                                                                                              \
        number, 0, 0, #name, function, true                                                        \
    }
#define A0 1
#define A1 2
#define A2 4
#define A3 8
#define A4 16

static const struct call calls[] = {
    PASS(5, setxattr, A0 | A1 | A2),
    PASS(6, lsetxattr, A0 | A1 | A2),
    PASS(7, fsetxattr, A1 | A2),
    PASS(8, getxattr, A0 | A1 | A2),
    PASS(9, lgetxattr, A0 | A1 | A2),
    PASS(10, fgetxattr, A1 | A2),
    PASS(11, listxattr, A0 | A1),
    PASS(12, llistxattr, A0 | A1),
    PASS(13, flistxattr, A1),
    PASS(14, removexattr, A0 | A1),
    PASS(15, lremovexattr, A0 | A1),
    PASS(16, fremovexattr, A1),
    PASS(17, getcwd, A0),
    PASS(19, eventfd2, 0),
    PASS(20, epoll_create1, 0),
    EMULATE(21, epoll_ctl, linux_epoll_ctl),
    EMULATE(22, epoll_pwait, linux_epoll_pwait),
    PASS(23, dup, 0),
    PASS(24, dup3, 0),
    RESTART(25, fcntl, linux_fcntl),
    PASS(26, inotify_init1, 0),
    PASS(27, inotify_add_watch, A1),
    PASS(28, inotify_rm_watch, 0),
    EMULATE(29, ioctl, linux_ioctl),
    RESTART(32, flock, linux_flock),
    PASS(33, mknodat, A1),
    PASS(34, mkdirat, A1),
    PASS(35, unlinkat, A1),
    PASS(36, symlinkat, A0 | A2),
    PASS(37, linkat, A1 | A3),
    PASS(38, renameat, A1 | A3),
    PASS(43, statfs, A0 | A1),
    PASS(44, fstatfs, A1),
    PASS(45, truncate, A0),
    PASS(46, ftruncate, 0),
    PASS(47, fallocate, 0),
    PASS(48, faccessat, A1),
    PASS(49, chdir, A0),
    PASS(50, fchdir, 0),
    PASS(52, fchmod, 0),
    PASS(53, fchmodat, A1),
    PASS(54, fchownat, A1),
    PASS(55, fchown, 0),
    RESTART(56, openat, linux_openat),
    PASS(57, close, 0),
    PASS(59, pipe2, A0),
    PASS(61, getdents64, A1),
    PASS(62, lseek, 0),
    RESTART(63, read, linux_read),
    RESTART(64, write, linux_write),
    RESTART(65, readv, linux_readv),
    RESTART(66, writev, linux_writev),
    PASS(67, pread64, A1),
    PASS(68, pwrite64, A1),
    EMULATE(69, preadv, linux_preadv),
    EMULATE(70, pwritev, linux_pwritev),
    RESTART(71, sendfile, linux_sendfile),
    EMULATE(72, pselect6, linux_pselect6),
    EMULATE(73, ppoll, linux_ppoll),
    RESTART(76, splice, linux_splice),
    EMULATE(78, readlinkat, linux_readlinkat),
    EMULATE(79, newfstatat, linux_fstatat),
    EMULATE(80, fstat, linux_fstat),
    RESTART(77, tee, linux_tee),
    PASS(81, sync, 0),
    PASS(82, fsync, 0),
    PASS(83, fdatasync, 0),
    PASS(84, sync_file_range, 0),
    PASS(85, timerfd_create, 0),
    PASS(86, timerfd_settime, A2 | A3),
    PASS(87, timerfd_gettime, A1),
    PASS(88, utimensat, A1 | A2),
    PASS(90, capget, A0 | A1),
    PASS(92, personality, 0),
    EMULATE(93, exit, linux_exit),
    EMULATE(94, exit_group, exit_group),
    RESTART(95, waitid, linux_waitid),
    EMULATE(96, set_tid_address, linux_set_tid_address),
    RESTART(98, futex, linux_futex),
    EMULATE(99, set_robust_list, refuse),
    EMULATE(101, nanosleep, linux_nanosleep),
    PASS(102, getitimer, A1),
    EMULATE(103, setitimer, setitimer_call),
    EMULATE(113, clock_gettime, linux_clock_gettime),
    PASS(114, clock_getres, A1),
    EMULATE(115, clock_nanosleep, linux_clock_nanosleep),
    EMULATE(118, sched_setparam, succeed),
    EMULATE(119, sched_setscheduler, succeed),
    EMULATE(120, sched_getscheduler, succeed),
    EMULATE(121, sched_getparam, sched_getparam),
    EMULATE(122, sched_setaffinity, succeed),
    EMULATE(123, sched_getaffinity, sched_getaffinity),
    EMULATE(124, sched_yield, linux_sched_yield),
    PASS(125, sched_get_priority_max, 0),
    PASS(126, sched_get_priority_min, 0),
    EMULATE(129, kill, linux_kill),
    EMULATE(130, tkill, linux_tkill),
    EMULATE(131, tgkill, linux_tgkill),
    EMULATE(132, sigaltstack, linux_sigaltstack),
    EMULATE(133, rt_sigsuspend, linux_rt_sigsuspend),
    EMULATE(134, rt_sigaction, linux_rt_sigaction),
    EMULATE(135, rt_sigprocmask, linux_rt_sigprocmask),
    EMULATE(136, rt_sigpending, linux_rt_sigpending),
    EMULATE(137, rt_sigtimedwait, linux_rt_sigtimedwait),
    EMULATE(138, rt_sigqueueinfo, linux_rt_sigqueueinfo),
    EMULATE(139, rt_sigreturn, rt_sigreturn),
    PASS(140, setpriority, 0),
    PASS(141, getpriority, 0),
    PASS(148, getresuid, A0 | A1 | A2),
    PASS(150, getresgid, A0 | A1 | A2),
    EMULATE(153, times, linux_times),
    PASS(154, setpgid, 0),
    PASS(155, getpgid, 0),
    PASS(156, getsid, 0),
    PASS(157, setsid, 0),
    PASS(158, getgroups, A1),
    EMULATE(160, uname, uname_call),
    EMULATE(163, getrlimit, getrlimit_call),
    EMULATE(164, setrlimit, succeed),
    PASS(165, getrusage, A1),
    PASS(166, umask, 0),
    EMULATE(167, prctl, linux_prctl),
    EMULATE(168, getcpu, getcpu_call),
    EMULATE(169, gettimeofday, linux_gettimeofday),
    PASS(172, getpid, 0),
    PASS(173, getppid, 0),
    PASS(174, getuid, 0),
    PASS(175, geteuid, 0),
    PASS(176, getgid, 0),
    PASS(177, getegid, 0),
    EMULATE(178, gettid, linux_gettid),
    PASS(179, sysinfo, A0),
    PASS(198, socket, 0),
    PASS(199, socketpair, A3),
    PASS(200, bind, A1),
    PASS(201, listen, 0),
    RESTART(202, accept, linux_accept),
    PASS(203, connect, A1),
    PASS(204, getsockname, A1 | A2),
    PASS(205, getpeername, A1 | A2),
    RESTART(206, sendto, linux_sendto),
    RESTART(207, recvfrom, linux_recvfrom),
    PASS(208, setsockopt, A3),
    PASS(209, getsockopt, A3 | A4),
    PASS(210, shutdown, 0),
    RESTART(211, sendmsg, linux_sendmsg),
    RESTART(212, recvmsg, linux_recvmsg),
    PASS(213, readahead, 0),
    EMULATE(214, brk, linux_brk),
    EMULATE(215, munmap, linux_munmap),
    EMULATE(216, mremap, linux_mremap),
    EMULATE(220, clone, linux_clone),
    EMULATE(221, execve, linux_execve),
    EMULATE(222, mmap, linux_mmap),
    PASS(223, fadvise64, 0),
    EMULATE(226, mprotect, linux_mprotect),
    PASS(227, msync, A0),
    EMULATE(228, mlock, succeed),
    EMULATE(229, munlock, succeed),
    EMULATE(230, mlockall, succeed),
    EMULATE(231, munlockall, succeed),
    PASS(232, mincore, A0 | A2),
    EMULATE(233, madvise, linux_madvise),
    EMULATE(240, rt_tgsigqueueinfo, linux_rt_tgsigqueueinfo),
    RESTART(242, accept4, linux_accept4),
    EMULATE(258, riscv_hwprobe, refuse),
    EMULATE(259, riscv_flush_icache, linux_flush_icache),
    RESTART(260, wait4, linux_wait4),
    EMULATE(261, prlimit64, prlimit),
    PASS(267, syncfs, 0),
    PASS(276, renameat2, A1 | A3),
    EMULATE(278, getrandom, linux_getrandom),
    PASS(279, memfd_create, A0),
    EMULATE(283, membarrier, refuse),
    EMULATE(284, mlock2, succeed),
    PASS(285, copy_file_range, A1 | A3),
    PASS(291, statx, A1 | A4),
    EMULATE(293, rseq, refuse),
    EMULATE(435, clone3, refuse),
    PASS(436, close_range, 0),
    PASS(439, faccessat2, A1),
};

static const struct call *find_call(uint64_t number)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

static const char *call_name(const struct riscv_machine *machine)
{
    if (linux_is_semihosting(machine))
        return linux_semihosting_name(machine);
    const struct call *call = find_call(machine->x[REGISTER_A7]);

    return call ? call->name : NULL;
}

static void report_unknown(struct riscv_machine *machine, uint64_t number)
{
    struct linux_state *state = linux_state_of(machine);
    char text[96];

    if (number < 8 * sizeof state->reported) {
        if (state->reported[number / 8] & 1 << number % 8)
            return;
        state->reported[number / 8] |= (uint8_t)(1 << number % 8);
    }
    snprintf(text, sizeof text, "the guest's system call %llu is not known here: ENOSYS",
             (unsigned long long)number);
    if (machine->options.note)
        machine->options.note(machine->options.note_context, text);
}

static int64_t pass_on(const struct riscv_machine *machine, const struct call *call,
                       const uint64_t *arguments)
{
    long host[6];

    for (unsigned i = 0; i < 6; i++)
        host[i] = call->pointers >> i & 1 ? (long)linux_pointer(machine, arguments[i])
                                          : (long)arguments[i];
    long result = syscall(call->host, host[0], host[1], host[2], host[3], host[4], host[5]);
    return result < 0 ? -errno : result;
}

static int64_t answer_once(struct riscv_machine *machine, const struct call *call)
{
    const uint64_t *arguments = &machine->x[REGISTER_A0];

    if (!call) {
        report_unknown(machine, machine->x[REGISTER_A7]);
        return -ENOSYS;
    }
    return call->emulate ? call->emulate(machine, arguments) : pass_on(machine, call, arguments);
}

static bool has_signal(const struct riscv_machine *machine)
{
    const struct linux_thread *thread = linux_thread_of(machine);

    return linux_pending_set(linux_state_of(machine), thread) & ~thread->blocked;
}

/* The result, which is not that a signal interrupted the call unless there is one for the guest:
 * the host has its own, and another thread may have taken it. */
static int64_t answer_until_done(struct riscv_machine *machine, const struct call *call)
{
    struct linux_thread *thread = linux_thread_of(machine);

    for (;;) {
        if (thread->wake == WAKE_SIGNAL && !has_signal(machine))
            thread->wake = WAKE_READY;
        int64_t result = answer_once(machine, call);
        linux_host_collect(machine);
        if (result != -EINTR || has_signal(machine))
            return result;
    }
}

/* False if the thread has to wait. */
static bool answer_thread(struct riscv_machine *machine)
{
    struct linux_thread *thread = linux_thread_of(machine);
    const struct call *call = find_call(machine->x[REGISTER_A7]);
    int64_t result = answer_until_done(machine, call);

    thread->wake = WAKE_NONE;
    if (result == LINUX_WAITS)
        return false;
    /* A mask that was borrowed for the call is only there to be interrupted by. */
    if (thread->restores_mask && result != -EINTR) {
        thread->restores_mask = false;
        thread->blocked = thread->restored_mask;
    }
    if (result == -EINTR && call && call->restarts && linux_restarts(machine))
        machine->pc -= 4;
    else if (!call || call->emulate != rt_sigreturn) /* which has set every register already */
        machine->x[REGISTER_A0] = (uint64_t)result;
    return true;
}

void linux_answer(struct riscv_machine *machine)
{
    while (machine->state.ending == RISCV_RUNNING && !answer_thread(machine))
        if (!linux_choose_next(machine) || linux_thread_of(machine)->wake == WAKE_NONE)
            break;
}

static void answer_call(struct riscv_machine *machine)
{
    if (linux_is_semihosting(machine))
        linux_semihosting(machine);
    else
        linux_answer(machine);
    linux_state_of(machine)->has_called = true;
    linux_deliver_pending(machine);
}

static void handle_trap(struct riscv_machine *machine, enum dispatch_stop stop)
{
    switch (stop) {
    case DISPATCH_EBREAK:
        linux_raise(machine, SIGTRAP, TRAP_BRKPT, machine->pc);
        break;
    case DISPATCH_ILLEGAL:
        linux_raise(machine, SIGILL, ILL_ILLOPC, machine->pc);
        break;
    case DISPATCH_FETCH:
        linux_raise(machine, SIGSEGV, SEGV_MAPERR, machine->pc);
        break;
    case DISPATCH_BUS:
        linux_raise(machine, SIGBUS, BUS_ADRALN, machine->fault_address);
        break;
    default:
        linux_raise(machine, SIGSEGV, SEGV_MAPERR, machine->fault_address);
        break;
    }
}

static int start(struct riscv_machine *machine, struct error *error)
{
    const struct riscv_image *image = machine->image;
    struct linux_state *state = memory_allocate_zeroed(1, sizeof *state);

    machine->environment_state = state;
    linux_threads_begin(machine);
    linux_name_first_thread(machine);
    linux_thread_of(machine)->blocked = machine->options.blocked;
    state->break_start = state->break_end = (image->end + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
    if (image_load(image, &machine->memory, false, error) || linux_prepare_stack(machine, error))
        return ERROR;
    linux_host_begin(machine);
    return OK;
}

static void finish(struct riscv_machine *machine)
{
    linux_host_end(machine);
    linux_threads_end(machine);
    free(machine->environment_state);
}

const struct environment linux_environment = {
    .name = "linux",
    .start = start,
    .call = answer_call,
    .trap = handle_trap,
    .call_name = call_name,
    .turn = linux_take_turn,
    .csr = linux_machine_csr,
    .touch = linux_touch,
    .finish = finish,
};

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
#include <unistd.h>

struct call {
    uint16_t number;  /* of the guest */
    int16_t host;     /* the host's number, where the call is passed on */
    uint8_t pointers; /* bit N: argument N is a pointer */
    const char *name;
    linux_call *emulate; /* NULL: passed on */
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

static int64_t set_tid_address(struct riscv_machine *machine, const uint64_t *arguments)
{
    (void)machine, (void)arguments;
    return gettid();
}

static int64_t uname_call(struct riscv_machine *machine, const uint64_t *arguments)
{
    char name[6][65] = {"Linux", "trueflame", "6.1.0", "#1", "riscv64", "(none)"};

    if (!gethostname(name[1], sizeof name[1]))
        name[1][64] = '\0';
    return memory_write(&machine->memory, arguments[0], name, sizeof name) ? 0 : -EFAULT;
}

/* Waiting on a futex that nobody else can wake would be for ever. */
static int64_t futex(struct riscv_machine *machine, const uint64_t *arguments)
{
    enum { WAIT = 0, WAKE = 1, COMMAND = 127 };
    uint32_t value;

    if ((arguments[1] & COMMAND) == WAKE)
        return 0;
    if ((arguments[1] & COMMAND) != WAIT)
        return -ENOSYS;
    if (!memory_read(&machine->memory, arguments[0], &value, sizeof value))
        return -EFAULT;
    return value == (uint32_t)arguments[2] ? -EDEADLK : -EAGAIN;
}

/* The guest's limits are its own: the stack is as large as it is, whatever it asks for. */
static int64_t prlimit(struct riscv_machine *machine, const uint64_t *arguments)
{
    enum { STACK = 3 };
    uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};

    if (arguments[1] == STACK)
        limit[0] = 8 << 20;
    if (arguments[3] && !memory_write(&machine->memory, arguments[3], limit, sizeof limit))
        return -EFAULT;
    return 0;
}

static int64_t getrlimit_call(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t as_prlimit[4] = {0, arguments[0], 0, arguments[1]};

    return prlimit(machine, as_prlimit);
}

#define PASS(number, name, pointers)                                                               \
    {                                                                                              \
        number, SYS_##name, pointers, #name, NULL                                                  \
    }
#define EMULATE(number, name, function)                                                            \
    {                                                                                              \
        number, 0, 0, #name, function                                                              \
    }
#define A0 1
#define A1 2
#define A2 4
#define A3 8
#define A4 16

static const struct call calls[] = {
    PASS(17, getcwd, A0),
    PASS(23, dup, 0),
    PASS(24, dup3, 0),
    PASS(25, fcntl, 0),
    EMULATE(29, ioctl, linux_ioctl),
    PASS(32, flock, 0),
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
    EMULATE(56, openat, linux_openat),
    PASS(57, close, 0),
    PASS(59, pipe2, A0),
    PASS(61, getdents64, A1),
    PASS(62, lseek, 0),
    PASS(63, read, A1),
    PASS(64, write, A1),
    EMULATE(65, readv, linux_readv),
    EMULATE(66, writev, linux_writev),
    PASS(67, pread64, A1),
    PASS(68, pwrite64, A1),
    PASS(71, sendfile, A2),
    PASS(72, pselect6, A1 | A2 | A3 | A4),
    PASS(73, ppoll, A0 | A2 | A3),
    EMULATE(78, readlinkat, linux_readlinkat),
    EMULATE(79, newfstatat, linux_fstatat),
    EMULATE(80, fstat, linux_fstat),
    PASS(82, fsync, 0),
    PASS(83, fdatasync, 0),
    PASS(88, utimensat, A1 | A2),
    EMULATE(93, exit, exit_group),
    EMULATE(94, exit_group, exit_group),
    EMULATE(96, set_tid_address, set_tid_address),
    EMULATE(98, futex, futex),
    EMULATE(99, set_robust_list, refuse),
    PASS(101, nanosleep, A0 | A1),
    PASS(113, clock_gettime, A1),
    PASS(114, clock_getres, A1),
    PASS(115, clock_nanosleep, A2 | A3),
    EMULATE(122, sched_setaffinity, succeed),
    PASS(123, sched_getaffinity, A2),
    PASS(124, sched_yield, 0),
    EMULATE(129, kill, linux_kill),
    EMULATE(130, tkill, linux_kill),
    EMULATE(131, tgkill, linux_tgkill),
    EMULATE(132, sigaltstack, linux_sigaltstack),
    EMULATE(134, rt_sigaction, linux_rt_sigaction),
    EMULATE(135, rt_sigprocmask, linux_rt_sigprocmask),
    EMULATE(139, rt_sigreturn, rt_sigreturn),
    PASS(153, times, A0),
    EMULATE(160, uname, uname_call),
    EMULATE(163, getrlimit, getrlimit_call),
    PASS(165, getrusage, A1),
    PASS(166, umask, 0),
    EMULATE(167, prctl, succeed),
    PASS(169, gettimeofday, A0 | A1),
    PASS(172, getpid, 0),
    PASS(173, getppid, 0),
    PASS(174, getuid, 0),
    PASS(175, geteuid, 0),
    PASS(176, getgid, 0),
    PASS(177, getegid, 0),
    PASS(178, gettid, 0),
    PASS(179, sysinfo, A0),
    EMULATE(214, brk, linux_brk),
    EMULATE(215, munmap, linux_munmap),
    EMULATE(216, mremap, linux_mremap),
    EMULATE(222, mmap, linux_mmap),
    EMULATE(226, mprotect, linux_mprotect),
    EMULATE(233, madvise, succeed),
    EMULATE(258, riscv_hwprobe, refuse),
    EMULATE(259, riscv_flush_icache, succeed),
    EMULATE(261, prlimit64, prlimit),
    PASS(276, renameat2, A1 | A3),
    PASS(278, getrandom, A0),
    PASS(291, statx, A1 | A4),
    EMULATE(293, rseq, refuse),
    PASS(439, faccessat2, A1),
};

static const struct call *find_call(uint64_t number)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

static const char *call_name(uint64_t number)
{
    const struct call *call = find_call(number);

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

static void answer_call(struct riscv_machine *machine)
{
    uint64_t number = machine->x[REGISTER_A7];
    const uint64_t *arguments = &machine->x[REGISTER_A0];
    const struct call *call = find_call(number);
    int64_t result;

    if (!call) {
        report_unknown(machine, number);
        result = -ENOSYS;
    } else if (call->emulate) {
        result = call->emulate(machine, arguments);
    } else {
        result = pass_on(machine, call, arguments);
    }
    /* A return from a handler has set every register already. */
    if (!call || call->emulate != rt_sigreturn)
        machine->x[REGISTER_A0] = (uint64_t)result;
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
    state->break_start = state->break_end = (image->end + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
    if (image_load(image, &machine->memory, false, error))
        return ERROR;
    return linux_prepare_stack(machine, error);
}

static void finish(struct riscv_machine *machine)
{
    free(machine->environment_state);
}

const struct environment linux_environment = {
    .name = "linux",
    .start = start,
    .call = answer_call,
    .trap = handle_trap,
    .call_name = call_name,
    .finish = finish,
};

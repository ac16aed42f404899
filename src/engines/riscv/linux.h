/*
 * linux.h: what the files of the linux environment share.
 *
 *   linux.c            the table of system calls
 *   linux_start.c      what a program finds when it starts
 *   linux_memory.c     brk, mmap and their kin
 *   linux_files.c      calls on files whose arguments look different on the host
 *   linux_blocking.c   calls in which the host would wait for another thread of the guest
 *   linux_self.c       what a process is told of itself
 *   linux_sockets.c    messages and epoll, likewise
 *   linux_time.c       clocks, sleeping, timers
 *   linux_threads.c    threads, and whose turn it is
 *   linux_waiting.c    threads that wait for files, time, children or signals
 *   linux_futex.c      threads that wait for each other
 *   linux_signals.c    signals: actions, frames, what is pending
 *   linux_host.c       signals that come from outside
 *   linux_processes.c  fork, exec, wait
 *   linux_semihosting.c  the debugger's calls that programs for bare machines make
 */
#ifndef TRUEFLAME_RISCV_LINUX_H
#define TRUEFLAME_RISCV_LINUX_H

#include "engines/riscv/machine.h"
#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#define LINUX_SIGNALS    64
#define LINUX_NAME_BYTES 16

/* The kernel's struct sigaction. */
struct linux_action {
    uint64_t handler, flags, mask;
};

/* What a thread that cannot go on waits for. */
enum linux_wait_kind {
    WAITS_NOT,
    WAITS_FUTEX,
    WAITS_FILES, /* or for time alone: no files and a deadline */
    WAITS_CHILD,
    WAITS_SIGNAL,
    WAITS_NEVER, /* it is over */
};

/* Why it goes on. The call is then answered once more. */
enum linux_wake {
    WAKE_NONE,    /* it has not waited: the call is new */
    WAKE_READY,   /* what it waited for may have happened */
    WAKE_EXPIRED, /* the deadline has passed */
    WAKE_SIGNAL,  /* a signal came */
};

#define LINUX_NEVER UINT64_MAX

struct linux_thread {
    uint32_t id;
    char name[LINUX_NAME_BYTES];
    /* What the machine has while the thread runs. */
    uint64_t x[32], f[32], pc;
    uint32_t fcsr;
    struct thread *profile; /* the core's; NULL without a profile */

    uint64_t clear_id;      /* zeroed and woken when the thread ends; 0: nothing */
    uint64_t blocked;       /* signals, bit N-1 for signal N */
    uint64_t restored_mask; /* what `blocked` will be once a handler has run over sigsuspend */
    bool restores_mask;
    uint64_t alternate_start, alternate_size; /* sigaltstack; size 0: none */

    enum linux_wait_kind waits;
    enum linux_wake wake;
    uint64_t deadline; /* linux_now's, LINUX_NEVER for none */
    uint64_t futex;    /* the word's address */
    uint32_t futex_bits;
    uint64_t queued;  /* its place in the order of waiting */
    uint64_t signals; /* that end a wait, though blocked; the one that did is in `taken` */
    siginfo_t taken;
    struct pollfd *files;
    size_t file_count;
    uint64_t done; /* bytes of a long write that have gone out */
};

struct linux_pending {
    siginfo_t information;
    uint32_t thread; /* 0: for the process */
};

#define LINUX_MAX_PENDING       256
#define LINUX_SEMIHOSTING_FILES 64

struct linux_state {
    uint64_t break_start, break_end; /* brk */
    uint64_t map_limit;              /* mmap looks for room below */
    uint64_t map_full;               /* between here and map_limit there is none */
    uint64_t stack_bytes;            /* the first thread's */
    uint64_t trampoline;             /* where a signal handler returns to */
    struct linux_action actions[LINUX_SIGNALS + 1];
    struct linux_pending pending[LINUX_MAX_PENDING]; /* oldest first */
    size_t pending_count;
    uint8_t reported[1024 / 8]; /* unknown calls that were reported already */

    struct linux_thread **threads; /* in order of creation; there is always one */
    size_t thread_count, thread_capacity;
    size_t turn;       /* whose turn it is */
    uint64_t turn_end; /* instructions retired by then */
    uint32_t last_id;
    uint64_t last_queued; /* see linux_thread.queued */
    int leader_status;    /* with which the first thread ended, if it has */
    uint64_t slept;       /* what sleeping added to the clock of a repeatable run */
    uint64_t random;      /* state of a repeatable run's randomness */
    bool has_called;      /* a system call was made */
    bool is_alone;        /* a program for a bare machine has used its registers */
    uint64_t machine_csrs[8];
    int semihosting_errno;
    int semihosting_files[LINUX_SEMIHOSTING_FILES]; /* by handle - 1: the host's number + 1; 0: free
                                                     */
    bool child_changed; /* since somebody waiting for a child has looked */
    bool shares_memory; /* with other processes: futexes are the host's, too */
};

static inline struct linux_state *linux_state_of(const struct riscv_machine *machine)
{
    return machine->environment_state;
}

static inline struct linux_thread *linux_thread_of(const struct riscv_machine *machine)
{
    struct linux_state *state = linux_state_of(machine);

    return state->threads[state->turn];
}

static inline uint64_t linux_bit(int number)
{
    return 1ull << (number - 1);
}

/* The host address of a guest pointer: NULL stays NULL, what cannot be the guest's becomes an
 * address that the kernel refuses. */
static inline void *linux_pointer(const struct riscv_machine *machine, uint64_t address)
{
    if (!address)
        return NULL;
    return memory_is_inside(address) ? memory_host(&machine->memory, address) : (void *)-4096;
}

/* Calls with more to them than passing them on. Each returns the result or -errno, or LINUX_WAITS
 * having said in the thread what for. */
typedef int64_t linux_call(struct riscv_machine *machine, const uint64_t *arguments);

#define LINUX_WAITS INT64_MIN

linux_call linux_flush_icache, linux_brk, linux_mmap, linux_munmap, linux_mprotect, linux_mremap,
    linux_madvise;
linux_call linux_fstat, linux_fstatat, linux_readlinkat, linux_openat, linux_ioctl, linux_fcntl;
linux_call linux_read, linux_write, linux_readv, linux_writev, linux_preadv, linux_pwritev;
linux_call linux_flock, linux_sendfile, linux_splice, linux_tee;
linux_call linux_sendmsg, linux_recvmsg, linux_sendto, linux_recvfrom, linux_accept, linux_accept4;
linux_call linux_epoll_ctl, linux_epoll_pwait;
linux_call linux_ppoll, linux_pselect6;
linux_call linux_nanosleep, linux_clock_nanosleep, linux_clock_gettime, linux_gettimeofday;
linux_call linux_getrandom, linux_times;
linux_call linux_rt_sigaction, linux_rt_sigprocmask, linux_sigaltstack, linux_kill, linux_tkill,
    linux_tgkill, linux_rt_sigsuspend, linux_rt_sigpending, linux_rt_sigtimedwait,
    linux_rt_sigqueueinfo, linux_rt_tgsigqueueinfo;
linux_call linux_prctl;
linux_call linux_clone, linux_exit, linux_gettid, linux_set_tid_address, linux_sched_yield;
linux_call linux_futex;
linux_call linux_execve, linux_wait4, linux_waitid;

/* A guest's text of at most so many bytes, or path, as a host string that ends within guest
 * memory; NULL if it does not. */
const char *linux_text(const struct riscv_machine *machine, uint64_t address, uint64_t most);
const char *linux_path(const struct riscv_machine *machine, uint64_t address);

/* Where the path leads on the host: another path, for what is about the process. */
const char *linux_resolve_path(const struct riscv_machine *machine, const char *path);

/* A file about the process in which the host would tell of trueflame, as the guest's kernel would
 * have it; -ENOENT: it is no such file. */
int64_t linux_open_own(const struct riscv_machine *machine, const char *path);

/* openat and F_OFD_SETLKW, with the host's arguments. */
int64_t linux_open_file(struct riscv_machine *machine, int folder, const char *path, int flags,
                        mode_t mode);
int64_t linux_lock_open_file(struct riscv_machine *machine, int file, void *lock);

/* The thread that a program begins with is called as its file. */
void linux_name_first_thread(struct riscv_machine *machine);

/* A guest's vector of buffers as the host's, to be freed; NULL if it is not in guest memory. */
struct iovec *linux_vector(const struct riscv_machine *machine, uint64_t address, uint64_t count);

/* The stack, arguments, environment and auxiliary vector. */
int linux_prepare_stack(struct riscv_machine *machine, struct error *error);

/* ---- threads ---- */

/* The first thread; it has the registers that the machine has. */
void linux_threads_begin(struct riscv_machine *machine);
void linux_threads_end(struct riscv_machine *machine);

/* Before a slice: gives the turn to the next thread when it is due. Returns how many instructions
 * may run before it wants to be asked again. */
uint64_t linux_take_turn(struct riscv_machine *machine);

/* Gives the turn to the next thread that can run, waiting until there is one. If it has waited
 * itself (`wake`), its call is still to be answered again. False if the guest is over. */
bool linux_choose_next(struct riscv_machine *machine);

/* Answers the running thread's call. If that makes it wait, others go on, until one of them needs
 * no answer any more. */
void linux_answer(struct riscv_machine *machine);

/* In the child of a fork: the running thread is the only one. */
void linux_threads_forked(struct riscv_machine *machine);

struct linux_thread *linux_find_thread(const struct linux_state *state, uint32_t id);

/* ---- waiting ---- */

/* Nanoseconds on the host's monotonic clock, or of a repeatable run. */
uint64_t linux_now(const struct riscv_machine *machine);

/* The running thread waits until the file is ready for `events`, unless it is or does not want to.
 * Returns 0 if the call can go on, LINUX_WAITS, or -EINTR. */
int64_t linux_await_file(struct riscv_machine *machine, int file, short events);

/* Until one of these files is ready. Returns LINUX_WAITS. */
int64_t linux_await_files(struct riscv_machine *machine, const struct pollfd *files, size_t count,
                          uint64_t deadline);

/* Sets up a wait without files, futexes or the like. Returns LINUX_WAITS. */
int64_t linux_await(struct riscv_machine *machine, enum linux_wait_kind kind, uint64_t deadline);

/* Looks which waiting threads can go on; with `block`, until one can or the guest is over. */
void linux_look_at_waiters(struct riscv_machine *machine, bool block);

/* The thread goes on, for this reason. */
void linux_wake_thread(struct linux_thread *thread, enum linux_wake wake);

/* A mask that holds while the running thread's call waits; what it was comes back with the call's
 * end. 0: none. False if the mask is not in guest memory. */
bool linux_borrow_mask(struct riscv_machine *machine, uint64_t address);

/* When a wait ends that a timespec in guest memory describes. False: it is no time. */
bool linux_deadline(const struct riscv_machine *machine, uint64_t address, bool is_absolute,
                    bool is_realtime, uint64_t *deadline);

/* Wakes at most `most` threads that wait on the word, for any of these bits. */
unsigned linux_futex_wake(struct riscv_machine *machine, uint64_t address, uint64_t most,
                          uint32_t bits);

/* ---- signals ---- */

/* Puts the handler of a signal on the stack, ends the guest, or does nothing: as the action says.
 * `address` is what a fault was about. Returns false if the guest is over. */
bool linux_raise(struct riscv_machine *machine, int number, int code, uint64_t address);

/* Adds a signal to those that wait to be delivered; to a thread, or to the process (0). */
void linux_send(struct riscv_machine *machine, const siginfo_t *information, uint32_t thread);

/* Takes the next signal out of those pending that is in `wanted` and for this thread. */
bool linux_take_pending(struct linux_state *state, const struct linux_thread *thread,
                        uint64_t wanted, siginfo_t *information);

/* The signals that are pending for the thread and the process. */
uint64_t linux_pending_set(const struct linux_state *state, const struct linux_thread *thread);

/* Delivers what is pending and not blocked, to the running thread. */
void linux_deliver_pending(struct riscv_machine *machine);

/* Whether a handler that is about to run wants interrupted calls to go on after it. */
bool linux_restarts(struct riscv_machine *machine);

/* Back from a handler. */
void linux_sigreturn(struct riscv_machine *machine);

/* Whether the signal would do something, rather than be ignored. */
bool linux_matters(const struct linux_state *state, int number);

/* ---- signals from outside: only where the process is the guest's own ---- */

void linux_host_begin(struct riscv_machine *machine);
void linux_host_end(struct riscv_machine *machine);
void linux_host_action(struct riscv_machine *machine, int number);

/* Takes in what has come since the last time. */
void linux_host_collect(struct riscv_machine *machine);

/* The signals that linux_host_collect would tell of, for those who wait on the host: they block
 * them first, so that none comes between looking and waiting. */
const sigset_t *linux_host_signals(void);
bool linux_host_has_news(void);

/* ---- processes ---- */

/* The host's fork; the child has the running thread alone. */
int64_t linux_fork(struct riscv_machine *machine);

/* ---- programs for bare machines ---- */

/* Whether the call that was just made is not the kernel's but a debugger's; what it is called, and
 * its answer. */
bool linux_is_semihosting(const struct riscv_machine *machine);
const char *linux_semihosting_name(const struct riscv_machine *machine);
void linux_semihosting(struct riscv_machine *machine);

/* What only programs for bare machines have, and only if this is one: machine-level registers, and
 * all memory between their data and their stack. */
uint64_t *linux_machine_csr(struct riscv_machine *machine, unsigned csr);
bool linux_touch(struct riscv_machine *machine, uint64_t address);

#endif

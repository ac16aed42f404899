/*
 * turns.c: with --repeatable, which thread runs next does not depend on the kernel.
 *
 * Valgrind runs one thread at a time: the one that has its lock. A thread gives the lock back
 * when its slice of blocks is over, which is the same in every run, and around each system call
 * that might wait, which is not: how soon a call is done, and which of several threads then asks
 * first, is chance. So the lock is handed on here, by one rule:
 *
 *     the lock is given only when all threads are at rest, each waiting for the lock or asleep
 *     in the kernel; of those that wait for it, the next one after the last holder gets it.
 *
 * "At rest" is what makes it exact. A thread that another one woke is no longer asleep when the
 * call that woke it is over, so whoever can run after a system call is among those that wait
 * before anyone goes on, and the effects of a call are there before the next thread can see them.
 *
 *                    asks for the lock                chosen
 *     TURN_AWAY ───────────────────────> TURN_WAITING ──────> TURN_HOLDING ──┐
 *         ^                                                                  │
 *         └──────────────────────────── gives it back ───────────────────────┘
 *
 * The thread that gives the lock back is about to make its system call and cannot look whether it
 * is at rest itself, so one of those that wait does: the chooser. Whether a thread sleeps is in
 * /proc, in a file that each keeps open, above the numbers a program can see.
 *
 * What stays outside: the time. When a sleep ends, or when data comes from another process, is not
 * ours to say. It costs a reading of /proc a thread and hand-over; without --repeatable, nothing.
 *
 * Valgrind has no interface for this: the linker puts these functions before its own
 * (--wrap, in meson.build), which still keep the real lock.
 */
#include "engine.h"

#include "core/platform.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* Of Valgrind's core, though not in its public headers. */
extern Int VG_(gettid)(void);
extern Int VG_(fd_hard_limit);
extern Int VG_(fcntl)(Int file, Int command, Addr argument);
extern SysRes VG_(pread)(Int file, void *buffer, Int count, OffT offset);

struct sched_lock;
void __real_vgModuleLocal_acquire_sched_lock(struct sched_lock *lock);
void __real_vgModuleLocal_release_sched_lock(struct sched_lock *lock);
void __wrap_vgModuleLocal_acquire_sched_lock(struct sched_lock *lock);
void __wrap_vgModuleLocal_release_sched_lock(struct sched_lock *lock);

enum turn_state { TURN_FREE, TURN_AWAY, TURN_WAITING, TURN_HOLDING };
enum turn_order { ORDER_NONE, ORDER_CHOOSE, ORDER_GO };

struct turn {
    Int kernel_id;
    Int status_file; /* /proc/self/task/ID/stat; -1 until it first had the lock */
    UInt state;      /* enum turn_state */
    UInt order;      /* enum turn_order; what a thread that waits sleeps on */
};

static struct turn *turns; /* VG_N_THREADS of them, in order of creation; freed ones used again */
static UInt used;          /* all after this are free */
static UInt last;          /* who had the lock last */
static Bool taken;         /* someone has the lock, or chooses who gets it */
static UInt expected;      /* threads created that have not asked for the lock yet */
static Int process;        /* whose threads these are */
static ULong file_limit;   /* what it was before it was raised here; 0: it was not */
static UInt guard;         /* 1 while someone reads or changes the above */

static void step_aside(void)
{
    call_kernel(__NR_sched_yield, 0, 0, 0);
}

static void guard_take(void)
{
    while (__atomic_exchange_n(&guard, 1, __ATOMIC_ACQUIRE))
        step_aside();
}

static void guard_give(void)
{
    __atomic_store_n(&guard, 0, __ATOMIC_RELEASE);
}

static void give_order(struct turn *turn, enum turn_order order)
{
    __atomic_store_n(&turn->order, order, __ATOMIC_RELEASE);
    call_kernel(__NR_futex, (UWord)&turn->order, VKI_FUTEX_WAKE, 1);
}

static enum turn_order wait_for_order(struct turn *turn)
{
    UInt order;

    while (!(order = __atomic_load_n(&turn->order, __ATOMIC_ACQUIRE)))
        call_kernel(__NR_futex, (UWord)&turn->order, VKI_FUTEX_WAIT, ORDER_NONE);
    __atomic_store_n(&turn->order, ORDER_NONE, __ATOMIC_RELAXED);
    return order;
}

/* ---- who there is ---- */

static void forget_all(void)
{
    for (UInt i = 0; i < used; i++)
        if (turns[i].status_file >= 0)
            VG_(close)(turns[i].status_file);
    used = last = expected = 0;
    taken = False;
}

/* The running thread's turn, a new one if this is the first time it is seen. A forked child is a
 * new process with one thread. */
static struct turn *own_turn(void)
{
    Int id = VG_(gettid)();
    UInt vacant = used;

    if (!turns)
        turns = platform_allocate(VG_N_THREADS * sizeof *turns);
    if (process != VG_(getpid)()) {
        process = VG_(getpid)();
        forget_all();
        vacant = 0;
    }
    for (UInt i = used; i-- > 0;) {
        if (turns[i].state == TURN_FREE)
            vacant = i;
        else if (turns[i].kernel_id == id)
            return &turns[i];
    }
    if (vacant == used)
        used++;
    if (expected)
        expected--;
    turns[vacant] = (struct turn){.kernel_id = id, .status_file = -1, .state = TURN_AWAY};
    return &turns[vacant];
}

/* Valgrind keeps a dozen numbers above those of the program for itself; here there is one more a
 * thread. The program is told the limit that Valgrind remembers, not this one. */
static void raise_file_limit(void)
{
    struct vki_rlimit limit;

    if (VG_(getrlimit)(VKI_RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
        return;
    if (!file_limit)
        file_limit = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    VG_(setrlimit)(VKI_RLIMIT_NOFILE, &limit);
}

/* Done while all others rest: for a moment the file has a number that the program could get. */
static void open_status(struct turn *turn)
{
    HChar path[64];

    VG_(sprintf)(path, "/proc/self/task/%d/stat", turn->kernel_id);
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return;
    turn->status_file = VG_(fcntl)(sr_Res(opened), VKI_F_DUPFD, VG_(fd_hard_limit));
    if (turn->status_file < 0) {
        raise_file_limit();
        turn->status_file = VG_(fcntl)(sr_Res(opened), VKI_F_DUPFD, VG_(fd_hard_limit));
    }
    VG_(close)(sr_Res(opened));
    if (turn->status_file >= 0)
        VG_(fcntl)(turn->status_file, VKI_F_SETFD, VKI_FD_CLOEXEC);
}

/* ---- rest ---- */

/* The letter that /proc has for what the thread does; 0: it is no more. Without a file of its own,
 * where the system gives no more of them, one is opened for the moment. */
static HChar kernel_state(struct turn *turn)
{
    HChar text[128];
    HChar path[64];
    Int file = turn->status_file;

    if (file < 0) {
        VG_(sprintf)(path, "/proc/self/task/%d/stat", turn->kernel_id);
        SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
        if (sr_isError(opened))
            return 0;
        file = sr_Res(opened);
    }
    SysRes got = VG_(pread)(file, text, sizeof text - 1, 0);
    if (turn->status_file < 0)
        VG_(close)(file);
    if (sr_isError(got) || !sr_Res(got))
        return 0;
    text[sr_Res(got)] = '\0';
    const HChar *end = VG_(strrchr)(text, ')'); /* the name may have any character */
    return end && end[1] ? end[2] : 'R';
}

/* Is this thread neither running nor about to? One that ended leaves its place, and its end may have
 * woken another that was looked at before. */
static Bool is_at_rest(struct turn *turn)
{
    if (__atomic_load_n(&turn->state, __ATOMIC_ACQUIRE) != TURN_AWAY)
        return True;
    switch (kernel_state(turn)) {
    case 'S':
    case 'T':
    case 't':
        return True;
    case 'Z':
    case 'X':
    case 0:
        if (turn->status_file >= 0)
            VG_(close)(turn->status_file);
        turn->status_file = -1;
        turn->state = TURN_FREE;
        return False;
    default:
        return False;
    }
}

static Bool all_are_at_rest(void)
{
    for (UInt i = 0; i < used; i++)
        if (turns[i].state != TURN_FREE && !is_at_rest(&turns[i]))
            return False;
    return !expected;
}

/* A thread found asleep may be woken by one that is looked at later, and that then sleeps itself: only
 * a second look sees it. Meanwhile nobody comes back, for want of the guard. */
static void wait_for_rest(void)
{
    Bool rest;

    do {
        guard_take();
        rest = all_are_at_rest() && all_are_at_rest();
        guard_give();
        if (!rest)
            step_aside();
    } while (!rest);
}

/* The first one after `from`, in a circle, that waits for the lock; NULL: nobody does. */
static struct turn *next_waiting(UInt from)
{
    for (UInt i = 1; i <= used; i++) {
        struct turn *turn = &turns[(from + i) % used];
        if (turn->state == TURN_WAITING)
            return turn;
    }
    return NULL;
}

static void choose(void)
{
    wait_for_rest();
    guard_take();
    struct turn *chosen = next_waiting(last);
    last = chosen - turns;
    guard_give();
    give_order(chosen, ORDER_GO);
}

/* ---- Valgrind's lock ---- */

void __wrap_vgModuleLocal_acquire_sched_lock(struct sched_lock *lock)
{
    if (!options.repeatable) {
        __real_vgModuleLocal_acquire_sched_lock(lock);
        return;
    }
    guard_take();
    struct turn *turn = own_turn();
    Bool chooser = !taken;
    taken = True;
    turn->state = TURN_WAITING;
    guard_give();
    if (chooser)
        choose();
    while (wait_for_order(turn) == ORDER_CHOOSE)
        choose();
    turn->state = TURN_HOLDING;
    __real_vgModuleLocal_acquire_sched_lock(lock);
    if (turn->status_file < 0)
        open_status(turn);
}

void __wrap_vgModuleLocal_release_sched_lock(struct sched_lock *lock)
{
    __real_vgModuleLocal_release_sched_lock(lock);
    if (!options.repeatable)
        return;
    guard_take();
    struct turn *turn = own_turn();
    turn->state = TURN_AWAY;
    struct turn *chooser = next_waiting(turn - turns);
    taken = chooser != NULL;
    guard_give();
    if (chooser)
        give_order(chooser, ORDER_CHOOSE);
}

void turns_expect(void)
{
    __atomic_add_fetch(&expected, 1, __ATOMIC_RELAXED);
}

void turns_expect_no_more(void)
{
    __atomic_sub_fetch(&expected, 1, __ATOMIC_RELAXED);
}

void turns_before_exec(void)
{
    struct vki_rlimit limit;

    if (!file_limit || VG_(getrlimit)(VKI_RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = file_limit;
    VG_(setrlimit)(VKI_RLIMIT_NOFILE, &limit);
}

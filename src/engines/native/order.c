/* order.c: see order.h. */
#include "engines/native/order.h"
#include "core/fixed.h"
#include "engines/native/arena.h"
#include "engines/native/files.h"
#include "engines/native/gate.h"
#include "engines/native/repeatable.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>

#define TURNS_MAX 32768u

enum turn_state { TURN_FREE, TURN_STARTING, TURN_AWAY, TURN_WAITING, TURN_HOLDING, TURN_KEEPING };
enum turn_order { ORDER_NONE, ORDER_CHOOSE, ORDER_GO };
enum told { TOLD_NOTHING, TOLD_TIME_IS_OVER, TOLD_KEEP_TIME };

struct turn {
    uint64_t number; /* they are in the order in which they were made */
    long tid;
    int32_t file;      /* /proc/TID/stat, -1: not open */
    uint32_t state;    /* enum turn_state */
    uint32_t order;    /* enum turn_order; what a thread that waits sleeps on */
    bool is_other;     /* another process, made by vfork */
    bool waits_for_it; /* for such a one */
    uint64_t
        deadline; /* in the kernel until then, if it is AWAY or KEEPING; 0: not until some time */
    uint64_t address;     /* of the futex there */
    uint32_t flags, told; /* the futex's; enum told */
    uint32_t nap;         /* 0, for who sleeps */
};

static struct {
    bool is_on;
    uint32_t guard;     /* 1 while someone reads or changes what follows */
    struct turn *turns; /* freed ones are used again, sooner or later */
    uint32_t used;      /* all after this are free */
    uint64_t made;      /* so many */
    uint64_t last;      /* the number of who had the turn last */
    bool taken;         /* someone has it, or chooses who gets it, or keeps time */
    bool keeps_time;    /* that */
    uint32_t came;      /* so many have asked since; what the keeper sleeps on */
    bool is_abandoned;  /* the process is gone, and with it whoever had the turn */
} order;

bool order_is_on(void)
{
    return order.is_on;
}

/* No lock to sleep on: a thread that waits for it would seem at rest. */
static void guard_take(void)
{
    while (__atomic_exchange_n(&order.guard, 1, __ATOMIC_ACQUIRE)) {
        if (thread_self()->is_vfork && lock_holder_is_gone())
            return;
        sys(sched_yield);
    }
}

static void guard_give(void)
{
    __atomic_store_n(&order.guard, 0, __ATOMIC_RELEASE);
}

/* ---- who there is ---- */

static struct turn *turn_new(enum turn_state state, long tid)
{
    uint32_t at = 0;
    if (!order.turns)
        order.turns = arena_allocate(TURNS_MAX * sizeof *order.turns);
    while (at < order.used && order.turns[at].state != TURN_FREE)
        at++;
    if (at == TURNS_MAX)
        fail("too many threads for --repeatable", NULL);
    if (at == order.used)
        order.used++;
    order.turns[at] = (struct turn){.number = ++order.made, .tid = tid, .file = -1, .state = state};
    return &order.turns[at];
}

static void turn_free(struct turn *turn)
{
    if (turn->file >= 0 && !thread_self()->is_vfork)
        sys(close, turn->file);
    *turn = (struct turn){.file = -1};
}

void order_begin(struct native_thread *maker)
{
    order.is_on = true;
    if (maker && !maker->turn)
        maker->turn = turn_new(TURN_AWAY, maker->tid);
}

void order_expect(struct native_thread *maker, struct native_thread *child, bool waits)
{
    if (!order.is_on)
        return;
    guard_take();
    child->turn = turn_new(TURN_STARTING, 0);
    child->turn->is_other = child->is_vfork;
    maker->turn->waits_for_it = waits;
    guard_give();
}

void order_expect_no_more(struct native_thread *maker, struct native_thread *child)
{
    if (!order.is_on || !child->turn)
        return;
    guard_take();
    turn_free(child->turn);
    child->turn = NULL;
    maker->turn->waits_for_it = false;
    guard_give();
}

void order_forked(struct native_thread *thread)
{
    for (uint32_t i = 0; i < order.used; i++)
        if (order.turns[i].state != TURN_FREE)
            turn_free(&order.turns[i]);
    order.guard = 0;
    order.used = 0;
    order.made = order.last = 0;
    order.is_on = order.taken = order.keeps_time = order.is_abandoned = false;
    thread->turn = NULL;
}

/* ---- rest ---- */

static long open_status(const struct turn *turn)
{
    char path[64];
    struct string_builder builder = {path, 0, sizeof path};
    string_add(&builder, "/proc/");
    string_add_number(&builder, turn->tid, 10);
    string_add(&builder, "/stat");
    return files_open(path, O_RDONLY);
}

/* Done while all others rest: for a moment the file has a number that the program could get. Not by
 * a child of vfork, whose files are others. */
static void keep_status(struct turn *turn)
{
    struct rlimit64 limit;
    long file = turn->is_other ? -EBADF : open_status(turn);
    if (sys_failed(file))
        return;
    sys(prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    uint64_t high = limit.rlim_cur > 2048 ? limit.rlim_cur - 1024 : limit.rlim_cur / 2;
    long kept = sys(fcntl, file, F_DUPFD_CLOEXEC, high);
    sys(close, file);
    turn->file = sys_failed(kept) ? -1 : kept;
}

static bool is_gone(const struct turn *turn)
{
    return sys(tkill, turn->tid, 0) == -ESRCH;
}

/* The letter that /proc has for what the thread does; 0: it is no more. The program may have closed
 * the file. Where none can be opened (no more files, no /proc) threads are taken to be asleep: their
 * order is then left to the kernel. */
static char kernel_state(struct turn *turn)
{
    char text[128];
    bool kept = turn->file >= 0 && !thread_self()->is_vfork;
    long got = kept ? sys(pread64, turn->file, text, sizeof text - 1, 0) : -EBADF;
    if (got == -EBADF) {
        long file = open_status(turn);
        if (sys_failed(file))
            return is_gone(turn) ? 0 : 'S';
        got = sys(pread64, file, text, sizeof text - 1, 0);
        sys(close, file);
    }
    if (got <= 0)
        return 0;
    for (const char *at = text + got; at-- > text;) /* the name may have any character */
        if (*at == ')' && at + 2 < text + got)
            return at[2];
    return 'R';
}

/* Is this thread neither running nor about to? One that ended leaves its place, and its end may have
 * woken another that was looked at before. */
static bool is_at_rest(struct turn *turn)
{
    uint32_t state = __atomic_load_n(&turn->state, __ATOMIC_ACQUIRE);
    if (state != TURN_AWAY)
        return state != TURN_STARTING;
    if (turn->told)
        return false;
    switch (kernel_state(turn)) {
    case 'D':
        return turn->waits_for_it;
    case 'S':
    case 'T':
    case 't':
        return true;
    case 'Z':
    case 'X':
    case 0:
        turn_free(turn);
        return false;
    default:
        return false;
    }
}

static bool all_are_at_rest(void)
{
    for (uint32_t i = 0; i < order.used; i++)
        if (!is_at_rest(&order.turns[i]))
            return false;
    return true;
}

/* A thread found asleep may be woken by one that is looked at later, and that then sleeps itself: only
 * a second look sees it. Meanwhile nobody comes back, for want of the guard. */
static void wait_for_rest(void)
{
    for (bool rest = false; !rest;) {
        guard_take();
        rest = all_are_at_rest() && all_are_at_rest();
        guard_give();
        if (!rest)
            sys(sched_yield);
    }
}

/* ---- handing on ---- */

static void give_order(struct turn *turn, enum turn_order what)
{
    __atomic_store_n(&turn->order, what, __ATOMIC_RELEASE);
    sys(futex, &turn->order, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* A child of vfork outlives a process that ends, and nobody is left then to give it an order: from
 * then on there is none. */
static enum turn_order wait_for_order(struct turn *turn)
{
    const int64_t a_while[2] = {0, 50000000}; /* struct timespec */
    uint32_t what;
    while (!(what = __atomic_load_n(&turn->order, __ATOMIC_ACQUIRE))) {
        long result = sys(futex, &turn->order, FUTEX_WAIT_PRIVATE, ORDER_NONE, a_while, 0, 0);
        if (result == -ETIMEDOUT && lock_holder_is_gone()) {
            order.is_abandoned = true;
            return ORDER_GO;
        }
    }
    __atomic_store_n(&turn->order, ORDER_NONE, __ATOMIC_RELAXED);
    return what;
}

/* The first one after the number `from`, in a circle, that waits for the turn; NULL: nobody does. */
static struct turn *next_waiting(uint64_t from)
{
    struct turn *next = NULL;
    for (uint32_t i = 0; i < order.used; i++) {
        struct turn *turn = &order.turns[i];
        /* What is not after `from` comes last, for want of a sign. */
        if (turn->state == TURN_WAITING &&
            (!next || turn->number - from - 1 < next->number - from - 1))
            next = turn;
    }
    return next;
}

static uint32_t futex_bits(const struct turn *turn)
{
    return 1u << turn->number % 32;
}

/* Of a thread that waits until some time, and is at rest. Others whose bit is the same wake for
 * nothing, as they may. */
static void tell(struct turn *turn, enum told what)
{
    __atomic_store_n(&turn->told, what, __ATOMIC_RELEASE);
    sys(futex, turn->address, FUTEX_WAKE_BITSET | turn->flags, INT32_MAX, 0, 0, futex_bits(turn));
}

/* The first one whose time will be over; NULL: nobody waits for that. */
static struct turn *first_deadline(void)
{
    struct turn *first = NULL;
    for (uint32_t i = 0; i < order.used; i++) {
        struct turn *turn = &order.turns[i];
        bool waits = (turn->state == TURN_AWAY || turn->state == TURN_KEEPING) && turn->deadline;
        if (waits && (!first || turn->deadline < first->deadline ||
                      (turn->deadline == first->deadline && turn->number < first->number)))
            first = turn;
    }
    return first;
}

/* Takes the guard when all rest, and nobody whose time is over is still in the kernel. */
static void rest_and_take_guard(void)
{
    for (;;) {
        wait_for_rest();
        guard_take();
        struct turn *first = first_deadline();
        if (!first || first->deadline > repeatable_elapsed())
            return;
        tell(first, TOLD_TIME_IS_OVER);
        guard_give();
    }
}

static void choose(void)
{
    rest_and_take_guard();
    struct turn *chosen = next_waiting(order.last);
    order.last = chosen->number;
    guard_give();
    give_order(chosen, ORDER_GO);
}

void order_take(struct native_thread *thread)
{
    if (order.is_abandoned)
        return;
    guard_take();
    if (!thread->turn)
        thread->turn = turn_new(TURN_AWAY, thread->tid);
    struct turn *turn = thread->turn;
    turn->tid = thread->tid;
    bool chooser = !order.taken;
    order.taken = true;
    __atomic_store_n(&turn->state, TURN_WAITING, __ATOMIC_RELEASE);
    bool knocks = order.keeps_time;
    order.came++;
    guard_give();
    if (knocks)
        sys(futex, &order.came, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    if (chooser)
        choose();
    while (wait_for_order(turn) == ORDER_CHOOSE)
        choose();
    turn->state = TURN_HOLDING;
    if (turn->file < 0)
        keep_status(turn);
}

void order_give(struct native_thread *thread)
{
    struct turn *turn = thread->turn;
    if (!turn || order.is_abandoned)
        return;
    guard_take();
    __atomic_store_n(&turn->state, TURN_AWAY, __ATOMIC_RELEASE);
    struct turn *chooser = next_waiting(turn->number);
    order.taken = chooser != NULL;
    guard_give();
    if (chooser)
        give_order(chooser, ORDER_CHOOSE);
}

/* ---- time ---- */

/* Only what may last: a call that wakes others is not to find one of them gone. */
static bool may_last(const uint64_t *r)
{
    switch (r[REGISTER_RAX] == __NR_futex ? r[REGISTER_RSI] & FUTEX_CMD_MASK : FUTEX_WAIT) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_UNLOCK_PI:
        return false;
    default:
        return true;
    }
}

void order_before_call(struct native_thread *thread)
{
    if (!order.is_on || order.is_abandoned || !may_last(thread->registers))
        return;
    guard_take();
    struct turn *first = order.taken ? NULL : first_deadline();
    if (first) {
        order.taken = true;
        tell(first, TOLD_KEEP_TIME);
    }
    guard_give();
}

/* With the guard, which is given: who had the turn's fate in hand goes. */
static void hand_on(void)
{
    struct turn *waiting = next_waiting(order.last), *first = waiting ? NULL : first_deadline();
    order.taken = waiting || first;
    if (first)
        tell(first, TOLD_KEEP_TIME);
    guard_give();
    if (waiting)
        give_order(waiting, ORDER_CHOOSE);
}

/* Sleeps until `deadline` or until somebody comes; false: a signal was faster. */
static bool sleep_until(uint64_t deadline, uint32_t came)
{
    uint64_t left = deadline - repeatable_elapsed();
    const int64_t real[2] = {left / FIXED_SECOND, left % FIXED_SECOND}; /* struct timespec */
    long result = sys(futex, &order.came, FUTEX_WAIT_PRIVATE, came, real, 0, 0);
    guard_take();
    if (result == -ETIMEDOUT && order.came == came)
        repeatable_pass(deadline - repeatable_elapsed());
    guard_give();
    return result != -EINTR;
}

/* Until somebody wants the turn, who then chooses, or the keeper's own time is over: true. */
static bool keep_time(struct turn *turn)
{
    bool over = false, goes_on = true;
    guard_take();
    order.keeps_time = true;
    __atomic_store_n(&turn->state, TURN_KEEPING, __ATOMIC_RELEASE);
    guard_give();
    while (goes_on) {
        wait_for_rest();
        guard_take();
        struct turn *first = first_deadline();
        over = turn->deadline <= repeatable_elapsed() && first == turn;
        if (over || next_waiting(order.last))
            break;
        bool is_due = first->deadline <= repeatable_elapsed();
        uint64_t deadline = first->deadline;
        uint32_t came = order.came;
        if (is_due)
            tell(first, TOLD_TIME_IS_OVER);
        guard_give();
        goes_on = is_due || sleep_until(deadline, came);
    }
    if (!goes_on)
        guard_take();
    order.keeps_time = false;
    __atomic_store_n(&turn->state, TURN_AWAY, __ATOMIC_RELEASE);
    uint64_t deadline = turn->deadline;
    turn->deadline = 0; /* it is not one that could keep time */
    hand_on();
    turn->deadline = over ? 0 : deadline;
    return over;
}

/* In the kernel's queue, without an end but as if there were one: a signal ends it. */
static long wait_in_kernel(struct native_thread *thread, const struct order_wait *wait)
{
    static const int64_t never[2] = {1l << 40, 0}; /* struct timespec */
    uint64_t kept[16];
    memcpy(kept, thread->registers, sizeof kept);
    uint64_t *r = thread->registers;
    r[REGISTER_RAX] = __NR_futex;
    r[REGISTER_RDI] = wait->address;
    r[REGISTER_RSI] = FUTEX_WAIT_BITSET | wait->flags;
    r[REGISTER_RDX] = wait->value;
    r[REGISTER_R10] = (uint64_t)never;
    r[REGISTER_R8] = 0;
    r[REGISTER_R9] = futex_bits(thread->turn);
    long result = syscalls_pass_on(thread);
    memcpy(thread->registers, kept, sizeof kept);
    return result;
}

static long compare(const struct order_wait *wait)
{
    uint32_t value;
    if (!gate_copy(&value, (void *)wait->address, sizeof value))
        return -EFAULT;
    return value == wait->value ? 0 : -EAGAIN;
}

/* What the thread was told meanwhile. */
static enum told take_told(struct turn *turn)
{
    guard_take();
    enum told told = turn->told;
    turn->told = TOLD_NOTHING;
    guard_give();
    return told;
}

static long wait_until_told(struct native_thread *thread, const struct order_wait *wait,
                            bool is_keeper)
{
    for (;;) {
        if (is_keeper && keep_time(thread->turn))
            return -ETIMEDOUT;
        long result = wait_in_kernel(thread, wait);
        enum told told = take_told(thread->turn);
        is_keeper = told == TOLD_KEEP_TIME && !result;
        if (is_keeper)
            continue;
        if (told == TOLD_KEEP_TIME) {
            thread->turn->deadline = 0;
            guard_take();
            hand_on();
        }
        return told == TOLD_TIME_IS_OVER && !result ? -ETIMEDOUT : result;
    }
}

bool order_can_wait(const struct native_thread *thread)
{
    return order.is_on && !order.is_abandoned && thread->turn && !thread->is_vfork;
}

uint32_t order_futex_bits(const struct native_thread *thread)
{
    return order_can_wait(thread) ? futex_bits(thread->turn) : FUTEX_BITSET_MATCH_ANY;
}

long order_wait(struct native_thread *thread, const struct order_wait *asked)
{
    struct turn *turn = thread->turn;
    struct order_wait wait = *asked;
    if (!wait.address)
        wait.address = (uint64_t)&turn->nap;
    long result = compare(&wait);
    if (result)
        return result;
    guard_take();
    turn->address = wait.address;
    turn->flags = wait.flags;
    turn->deadline = wait.deadline ? wait.deadline : 1;
    bool is_keeper = !order.taken;
    order.taken = true;
    guard_give();
    result = wait_until_told(thread, &wait, is_keeper);
    guard_take();
    turn->deadline = 0;
    guard_give();
    return result;
}

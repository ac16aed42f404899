/* order.c: see order.h. */
#include "engines/native/order.h"
#include "engines/native/arena.h"
#include "engines/native/files.h"
#include "engines/native/order_turns.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include "engines/native/waits.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>

#define TURNS_MAX 32768u

struct order order;

bool order_is_on(void)
{
    return order.is_on;
}

/* No lock to sleep on: a thread that waits for it would seem at rest. */
void order_guard_take(void)
{
    while (__atomic_exchange_n(&order.guard, 1, __ATOMIC_ACQUIRE)) {
        if (thread_self()->is_vfork && lock_holder_is_gone())
            return;
        sys(sched_yield);
    }
}

void order_guard_give(void)
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
    order_guard_take();
    child->turn = turn_new(TURN_STARTING, 0);
    child->turn->is_other = child->is_vfork;
    maker->turn->waits_for_it = waits;
    order_guard_give();
}

void order_expect_no_more(struct native_thread *maker, struct native_thread *child)
{
    if (!order.is_on || !child->turn)
        return;
    order_guard_take();
    turn_free(child->turn);
    child->turn = NULL;
    maker->turn->waits_for_it = false;
    order_guard_give();
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
    string_add(&builder, "/task/");
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
 * woken another that was looked at before. One that is stopped is so for a moment, or nobody would
 * ask: all are at once. */
static bool is_at_rest(struct turn *turn)
{
    uint32_t state = __atomic_load_n(&turn->state, __ATOMIC_ACQUIRE);
    if (state != TURN_AWAY)
        return state != TURN_STARTING;
    if (turn->told) {
        waits_wake(turn);
        return false;
    }
    switch (kernel_state(turn)) {
    case 'D':
        return turn->waits_for_it;
    case 'T':
        return turn->is_other;
    case 'S':
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
void order_wait_for_rest(void)
{
    for (bool rest = false; !rest;) {
        order_guard_take();
        rest = all_are_at_rest() && all_are_at_rest();
        order_guard_give();
        if (!rest)
            sys(sched_yield);
    }
}

/* ---- handing on ---- */

void order_tell(struct turn *turn, enum turn_order what)
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

struct turn *order_next(uint64_t from)
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

static void choose(void)
{
    waits_end_those_that_are_over();
    struct turn *chosen = order_next(order.last);
    order.last = chosen->number;
    order_guard_give();
    order_tell(chosen, ORDER_GO);
}

void order_take(struct native_thread *thread)
{
    if (order.is_abandoned)
        return;
    order_guard_take();
    if (!thread->turn)
        thread->turn = turn_new(TURN_AWAY, thread->tid);
    struct turn *turn = thread->turn;
    turn->tid = thread->tid;
    bool chooser = !order.taken;
    order.taken = true;
    __atomic_store_n(&turn->state, TURN_WAITING, __ATOMIC_RELEASE);
    bool knocks = order.keeps_time;
    order.came++;
    order_guard_give();
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
    order_guard_take();
    __atomic_store_n(&turn->state, TURN_AWAY, __ATOMIC_RELEASE);
    struct turn *chooser = order_next(turn->number);
    order.taken = chooser != NULL;
    order_guard_give();
    if (chooser)
        order_tell(chooser, ORDER_CHOOSE);
}

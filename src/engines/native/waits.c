/* waits.c: see waits.h. */
#include "engines/native/waits.h"
#include "core/fixed.h"
#include "engines/native/gate.h"
#include "engines/native/order.h"
#include "engines/native/order_turns.h"
#include "engines/native/repeatable.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <errno.h>
#include <linux/futex.h>

#define BIT_WITHOUT_LIMIT (1u << 31)
#define BIT_SHARED        (1u << 30)
#define BITS_OF_ONE       (BIT_SHARED - 1)

/* Why the keeper stops. */
enum kept { KEPT_ON, KEPT_UNTIL_WANTED, KEPT_TO_THE_END, KEPT_INTERRUPTED, KEPT_WOKEN };

/* ---- telling ---- */

void waits_wake(const struct turn *turn)
{
    sys(futex, turn->address, FUTEX_WAKE_BITSET | turn->flags, INT32_MAX, 0, 0, turn->bits);
}

static void tell(struct turn *turn, enum told what)
{
    __atomic_store_n(&turn->told, what, __ATOMIC_RELEASE);
    waits_wake(turn);
}

/* Until `turn` knows that it is to keep time. When the whole process is stopped the kernel takes who waits
 * out of its queue, to put it back later: a wake in between is lost. */
static void see_told(const struct turn *turn)
{
    const unsigned a_while = 64;
    for (unsigned i = 1;; i++) {
        order_guard_take();
        bool knows = turn->told != TOLD_KEEP_TIME;
        if (!knows && i % a_while == 0)
            waits_wake(turn);
        order_guard_give();
        if (knows)
            return;
        sys(sched_yield);
    }
}

/* What the thread was told. Unless it is to keep time its wait is over. */
static enum told take_told(struct turn *turn)
{
    order_guard_take();
    enum told told = turn->told;
    turn->told = TOLD_NOTHING;
    if (told != TOLD_KEEP_TIME)
        turn->deadline = 0;
    order_guard_give();
    return told;
}

static bool waits_for_time(const struct turn *turn)
{
    return (turn->state == TURN_AWAY || turn->state == TURN_KEEPING) && turn->deadline;
}

/* The first one whose time will be over, of those that wait with one of `bits`; NULL: nobody waits for
 * that. */
static struct turn *first_of(uint32_t bits)
{
    struct turn *first = NULL;
    for (uint32_t i = 0; i < order.used; i++) {
        struct turn *turn = &order.turns[i];
        if (waits_for_time(turn) && (turn->bits & bits) &&
            (!first || turn->deadline < first->deadline ||
             (turn->deadline == first->deadline && turn->number < first->number)))
            first = turn;
    }
    return first;
}

static struct turn *first_deadline(void)
{
    return first_of(BITS_OF_ONE | BIT_SHARED);
}

/* Rather one that wakes no other. */
static struct turn *next_keeper(void)
{
    struct turn *keeper = first_of(BITS_OF_ONE);
    return keeper ? keeper : first_deadline();
}

static uint32_t free_bit(uint64_t address)
{
    uint32_t left = BITS_OF_ONE;
    for (uint32_t i = 0; i < order.used; i++)
        if (waits_for_time(&order.turns[i]) && order.turns[i].address == address)
            left &= ~order.turns[i].bits;
    return left ? left & -left : BIT_SHARED;
}

void waits_end_those_that_are_over(void)
{
    for (;;) {
        order_wait_for_rest();
        order_guard_take();
        struct turn *first = first_deadline();
        if (!first || first->deadline > repeatable_elapsed())
            return;
        tell(first, TOLD_TIME_IS_OVER);
        order_guard_give();
    }
}

/* ---- who keeps time ---- */

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

void waits_before_call(struct native_thread *thread)
{
    if (!order.is_on || order.is_abandoned || !may_last(thread->registers))
        return;
    order_guard_take();
    struct turn *keeper = order.taken ? NULL : next_keeper();
    if (keeper) {
        order.taken = true;
        tell(keeper, TOLD_KEEP_TIME);
    }
    order_guard_give();
    if (keeper)
        see_told(keeper);
}

/* With the guard: who had the turn's fate in hand goes, and all rest. To whom, if that is one that is to
 * keep time. */
static struct turn *hand_on(void)
{
    struct turn *waiting = order_next(order.last), *keeper = waiting ? NULL : next_keeper();
    order.taken = waiting || keeper;
    if (keeper)
        tell(keeper, TOLD_KEEP_TIME);
    if (waiting)
        order_tell(waiting, ORDER_CHOOSE);
    return keeper;
}

/* Another process may wake who waits on memory that they share, and would not find a keeper in the
 * kernel's queue: it looks itself, now and then. */
static bool is_shared(const struct timed_wait *wait)
{
    return !(wait->flags & FUTEX_PRIVATE_FLAG);
}

static long compare(const struct timed_wait *wait)
{
    uint32_t value;
    if (!gate_copy(&value, (void *)wait->address, sizeof value))
        return -EFAULT;
    return value == wait->value ? 0 : -EAGAIN;
}

/* Sleeps until the program's time is `deadline`, or somebody comes, or what it waits on has changed. */
static enum kept sleep_until(const struct timed_wait *wait, uint64_t deadline, uint32_t came)
{
    const uint64_t a_moment = FIXED_SECOND / 1000;
    uint64_t left = deadline - repeatable_elapsed();
    bool looks = is_shared(wait) && left > a_moment, begun;
    if (looks)
        left = a_moment;
    const int64_t real[2] = {left / FIXED_SECOND, left % FIXED_SECOND}; /* struct timespec */
    const uint64_t registers[16] = {
        [REGISTER_RAX] = __NR_futex,         [REGISTER_RDI] = (uint64_t)&order.came,
        [REGISTER_RSI] = FUTEX_WAIT_PRIVATE, [REGISTER_RDX] = came,
        [REGISTER_R10] = (uint64_t)real,
    };
    long result = gate_call(registers, &begun);
    if (!begun || result == -EINTR)
        return KEPT_INTERRUPTED;
    order_guard_take();
    if (result == -ETIMEDOUT && order.came == came)
        repeatable_pass(left);
    order_guard_give();
    return looks && compare(wait) ? KEPT_WOKEN : KEPT_ON;
}

/* With the guard. */
static enum kept reason_to_stop(const struct turn *turn)
{
    if (turn->deadline <= repeatable_elapsed() && first_deadline() == turn)
        return KEPT_TO_THE_END;
    return order_next(order.last) ? KEPT_UNTIL_WANTED : KEPT_ON;
}

/* With the guard, which is given. */
static enum kept pass_time(const struct timed_wait *wait)
{
    struct turn *first = first_deadline();
    uint64_t deadline = first->deadline;
    uint32_t came = order.came;
    bool is_due = deadline <= repeatable_elapsed();
    if (is_due)
        tell(first, TOLD_TIME_IS_OVER);
    order_guard_give();
    return is_due ? KEPT_ON : sleep_until(wait, deadline, came);
}

/* Until somebody wants the turn, who then chooses, or the keeper has its own reason to go. `kept`: it
 * has one already, and only hands on. */
static enum kept keep_time(struct turn *turn, const struct timed_wait *wait, enum kept kept)
{
    order_guard_take();
    order.keeps_time = true;
    __atomic_store_n(&turn->state, TURN_KEEPING, __ATOMIC_RELEASE);
    order_guard_give();
    for (;;) {
        order_wait_for_rest();
        order_guard_take();
        if (kept == KEPT_ON)
            kept = reason_to_stop(turn);
        if (kept != KEPT_ON)
            break;
        kept = pass_time(wait);
    }
    order.keeps_time = false;
    __atomic_store_n(&turn->state, TURN_AWAY, __ATOMIC_RELEASE);
    uint64_t deadline = turn->deadline;
    turn->deadline = 0; /* it is not one that could keep time */
    const struct turn *next = hand_on();
    turn->deadline = kept == KEPT_UNTIL_WANTED ? deadline : 0;
    order_guard_give();
    if (next)
        see_told(next);
    return kept;
}

/* ---- waiting ---- */

/* In the kernel's queue, without an end but as if there were one: a signal ends it. */
static long wait_in_kernel(struct native_thread *thread, const struct timed_wait *wait)
{
    static const int64_t never[2] = {1l << 40, 0}; /* struct timespec */
    bool begun;
    const uint64_t registers[16] = {
        [REGISTER_RAX] = __NR_futex,
        [REGISTER_RDI] = wait->address,
        [REGISTER_RSI] = FUTEX_WAIT_BITSET | wait->flags,
        [REGISTER_RDX] = wait->value,
        [REGISTER_R10] = (uint64_t)never,
        [REGISTER_R9] = thread->turn->bits,
    };
    long result = gate_call(registers, &begun);
    return begun ? result : SYSCALL_NOT_BEGUN;
}

static long result_of(enum kept kept)
{
    return kept == KEPT_TO_THE_END ? -ETIMEDOUT : kept == KEPT_INTERRUPTED ? -EINTR : 0;
}

static long wait_until_told(struct native_thread *thread, const struct timed_wait *wait,
                            bool is_keeper)
{
    struct turn *turn = thread->turn;
    for (bool has_kept = is_keeper;; has_kept = true) {
        enum kept kept = is_keeper ? keep_time(turn, wait, KEPT_ON) : KEPT_UNTIL_WANTED;
        if (kept != KEPT_UNTIL_WANTED)
            return result_of(kept);
        long result = wait_in_kernel(thread, wait);
        enum told told = take_told(turn);
        is_keeper = told == TOLD_KEEP_TIME;
        if (is_keeper && !result)
            continue;
        if (is_keeper)
            keep_time(turn, wait, KEPT_INTERRUPTED);
        if (result == SYSCALL_NOT_BEGUN && has_kept) /* time has passed: not to be begun again */
            return -EINTR;
        return told == TOLD_TIME_IS_OVER && !result ? -ETIMEDOUT : result;
    }
}

bool waits_in_turns(const struct native_thread *thread)
{
    return order.is_on && !order.is_abandoned && thread->turn && !thread->is_vfork;
}

long waits_until(struct native_thread *thread, const struct timed_wait *asked)
{
    struct turn *turn = thread->turn;
    struct timed_wait wait = *asked;
    if (!wait.address)
        wait.address = (uint64_t)&turn->nap;
    long result = compare(&wait);
    if (result)
        return result;
    order_guard_take();
    turn->bits = free_bit(wait.address);
    turn->address = wait.address;
    turn->flags = wait.flags;
    turn->deadline = wait.deadline ? wait.deadline : 1;
    bool is_keeper = !order.taken;
    order.taken = true;
    order_guard_give();
    return wait_until_told(thread, &wait, is_keeper);
}

/* ---- other calls on a futex ---- */

/* The call, with another operation and last argument. */
static long call_with(struct native_thread *thread, unsigned command, uint64_t count, uint32_t bits)
{
    uint64_t registers[16];
    bool begun;
    memcpy(registers, thread->registers, sizeof registers);
    registers[REGISTER_RSI] = (registers[REGISTER_RSI] & ~(uint64_t)FUTEX_CMD_MASK) | command;
    registers[REGISTER_RDX] = count;
    registers[REGISTER_R9] = bits;
    long result = gate_call(registers, &begun);
    return begun ? result : SYSCALL_NOT_BEGUN;
}

long waits_without_limit(struct native_thread *thread)
{
    return call_with(thread, FUTEX_WAIT_BITSET, thread->registers[REGISTER_RDX], BIT_WITHOUT_LIMIT);
}

/* FUTEX_WAKE_BITSET, whose bits are not those that threads wait with, FUTEX_REQUEUE and
 * FUTEX_CMP_REQUEUE. */
long waits_wake_some(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    unsigned command = r[REGISTER_RSI] & FUTEX_CMD_MASK;
    struct timed_wait expected = {.address = r[REGISTER_RDI], .value = r[REGISTER_R9]};
    long wrong = command == FUTEX_CMP_REQUEUE ? compare(&expected) : 0;
    if (wrong)
        return wrong;
    return call_with(thread, FUTEX_WAKE_BITSET, INT32_MAX, FUTEX_BITSET_MATCH_ANY);
}

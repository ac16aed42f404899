/*
 * linux_futex.c: threads that wait for each other.
 *
 * Threads run in turns, so nothing happens between looking at the word and waiting. Who waits
 * longest is woken first. Words in memory that other processes share are the host's futexes, too.
 */
#include "engines/riscv/linux.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_waiting(const struct linux_thread *thread, uint64_t address, uint32_t bits)
{
    return thread->waits == WAITS_FUTEX && thread->futex == address && thread->futex_bits & bits;
}

/* The one that has waited longest; NULL for none. */
static struct linux_thread *first_waiter(const struct linux_state *state, uint64_t address,
                                         uint32_t bits)
{
    struct linux_thread *first = NULL;

    for (size_t i = 0; i < state->thread_count; i++) {
        struct linux_thread *thread = state->threads[i];
        if (is_waiting(thread, address, bits) && (!first || thread->queued < first->queued))
            first = thread;
    }
    return first;
}

unsigned linux_futex_wake(struct riscv_machine *machine, uint64_t address, uint64_t most,
                          uint32_t bits)
{
    struct linux_thread *thread;
    unsigned woken = 0;

    while (woken < most && (thread = first_waiter(linux_state_of(machine), address, bits))) {
        linux_wake_thread(thread, WAKE_READY);
        woken++;
    }
    return woken;
}

static bool read_word(const struct riscv_machine *machine, uint64_t address, uint32_t *value)
{
    return memory_read(&machine->memory, address, value, sizeof *value);
}

static bool is_hosts(const struct riscv_machine *machine, const uint64_t *arguments)
{
    return linux_state_of(machine)->shares_memory && !(arguments[1] & FUTEX_PRIVATE_FLAG);
}

static int64_t ask_host(const struct riscv_machine *machine, const uint64_t *arguments)
{
    long result = syscall(SYS_futex, linux_pointer(machine, arguments[0]), arguments[1],
                          arguments[2], linux_pointer(machine, arguments[3]), NULL, arguments[5]);

    return result < 0 ? -errno : result;
}

static int64_t enqueue(struct riscv_machine *machine, uint64_t address, uint32_t bits,
                       uint64_t deadline)
{
    struct linux_thread *thread = linux_thread_of(machine);

    thread->futex = address;
    thread->futex_bits = bits;
    thread->queued = ++linux_state_of(machine)->last_queued;
    return linux_await(machine, WAITS_FUTEX, deadline);
}

static int64_t wait_for(struct riscv_machine *machine, const uint64_t *arguments, uint32_t bits,
                        bool is_absolute)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t deadline;
    uint32_t value;

    switch (thread->wake) {
    case WAKE_READY:
        return 0;
    case WAKE_EXPIRED:
        return -ETIMEDOUT;
    case WAKE_SIGNAL:
        return -EINTR;
    case WAKE_NONE:
        break;
    }
    if (!bits)
        return -EINVAL;
    if (!read_word(machine, arguments[0], &value))
        return -EFAULT;
    if (value != (uint32_t)arguments[2])
        return -EAGAIN;
    if (!linux_deadline(machine, arguments[3], is_absolute, arguments[1] & FUTEX_CLOCK_REALTIME,
                        &deadline))
        return -EINVAL;
    if (is_hosts(machine, arguments) && linux_state_of(machine)->thread_count == 1)
        return ask_host(machine, arguments);
    return enqueue(machine, arguments[0], bits, deadline);
}

static int64_t wake(struct riscv_machine *machine, const uint64_t *arguments, uint32_t bits)
{
    uint64_t woken = linux_futex_wake(machine, arguments[0], (uint32_t)arguments[2], bits);

    if (!bits)
        return -EINVAL;
    if (is_hosts(machine, arguments) && woken < (uint32_t)arguments[2]) {
        int64_t others = ask_host(machine, arguments);
        woken += others > 0 ? (uint64_t)others : 0;
    }
    return (int64_t)woken;
}

static int64_t requeue(struct riscv_machine *machine, const uint64_t *arguments, bool compares)
{
    struct linux_thread *thread;
    uint32_t value;
    unsigned moved = 0;

    if (!read_word(machine, arguments[0], &value))
        return -EFAULT;
    if (compares && value != (uint32_t)arguments[5])
        return -EAGAIN;
    unsigned woken =
        linux_futex_wake(machine, arguments[0], (uint32_t)arguments[2], FUTEX_BITSET_MATCH_ANY);
    while (moved < (uint32_t)arguments[3] &&
           (thread = first_waiter(linux_state_of(machine), arguments[0], FUTEX_BITSET_MATCH_ANY))) {
        thread->futex = arguments[4];
        moved++;
        if (arguments[4] == arguments[0])
            break;
    }
    return woken + moved;
}

static bool compare(unsigned comparison, int32_t value, int32_t operand)
{
    switch (comparison) {
    case FUTEX_OP_CMP_EQ:
        return value == operand;
    case FUTEX_OP_CMP_NE:
        return value != operand;
    case FUTEX_OP_CMP_LT:
        return value < operand;
    case FUTEX_OP_CMP_LE:
        return value <= operand;
    case FUTEX_OP_CMP_GT:
        return value > operand;
    default:
        return value >= operand;
    }
}

static uint32_t operate(unsigned operation, uint32_t value, uint32_t operand)
{
    switch (operation) {
    case FUTEX_OP_SET:
        return operand;
    case FUTEX_OP_ADD:
        return value + operand;
    case FUTEX_OP_OR:
        return value | operand;
    case FUTEX_OP_ANDN:
        return value & ~operand;
    default:
        return value ^ operand;
    }
}

static int64_t wake_and_change(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint32_t code = (uint32_t)arguments[5], value;
    unsigned operation = code >> 28 & 7, comparison = code >> 24 & 15;
    int32_t operand = (int32_t)(code << 8) >> 20, compared = (int32_t)(code << 20) >> 20;

    if (code >> 28 & FUTEX_OP_OPARG_SHIFT)
        operand = 1 << (operand & 31);
    if (operation > FUTEX_OP_XOR || comparison > FUTEX_OP_CMP_GE)
        return -ENOSYS;
    if (!read_word(machine, arguments[4], &value))
        return -EFAULT;
    uint32_t changed = operate(operation, value, (uint32_t)operand);
    if (!memory_write(&machine->memory, arguments[4], &changed, sizeof changed))
        return -EFAULT;
    unsigned woken =
        linux_futex_wake(machine, arguments[0], (uint32_t)arguments[2], FUTEX_BITSET_MATCH_ANY);
    if (compare(comparison, (int32_t)value, compared))
        woken +=
            linux_futex_wake(machine, arguments[4], (uint32_t)arguments[3], FUTEX_BITSET_MATCH_ANY);
    return woken;
}

/* Locks that the kernel hands over: the word holds the owner's id. With turns of equal length there
 * is no priority to inherit. */
static int64_t lock(struct riscv_machine *machine, const uint64_t *arguments, bool only_tries)
{
    struct linux_thread *thread = linux_thread_of(machine);
    uint64_t deadline;
    uint32_t value;

    if (thread->wake == WAKE_EXPIRED)
        return -ETIMEDOUT;
    if (thread->wake == WAKE_SIGNAL)
        return -EINTR;
    if (!read_word(machine, arguments[0], &value))
        return -EFAULT;
    if ((value & FUTEX_TID_MASK) == thread->id)
        return thread->wake == WAKE_READY ? 0 : -EDEADLK;
    if (!(value & FUTEX_TID_MASK)) {
        value = (value & FUTEX_WAITERS) | thread->id;
        return memory_write(&machine->memory, arguments[0], &value, sizeof value) ? 0 : -EFAULT;
    }
    if (only_tries)
        return -EAGAIN;
    if (!linux_deadline(machine, arguments[3], true, true, &deadline))
        return -EINVAL;
    value |= FUTEX_WAITERS;
    if (!memory_write(&machine->memory, arguments[0], &value, sizeof value))
        return -EFAULT;
    return enqueue(machine, arguments[0], FUTEX_BITSET_MATCH_ANY, deadline);
}

static int64_t unlock(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct linux_state *state = linux_state_of(machine);
    uint32_t value;

    if (!read_word(machine, arguments[0], &value))
        return -EFAULT;
    if ((value & FUTEX_TID_MASK) != linux_thread_of(machine)->id)
        return -EPERM;
    struct linux_thread *heir = first_waiter(state, arguments[0], FUTEX_BITSET_MATCH_ANY);
    if (heir)
        linux_wake_thread(heir, WAKE_READY);
    value = heir ? heir->id : 0;
    if (heir && first_waiter(state, arguments[0], FUTEX_BITSET_MATCH_ANY))
        value |= FUTEX_WAITERS;
    return memory_write(&machine->memory, arguments[0], &value, sizeof value) ? 0 : -EFAULT;
}

int64_t linux_futex(struct riscv_machine *machine, const uint64_t *arguments)
{
    if (arguments[0] % 4)
        return -EINVAL;
    switch (arguments[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return wait_for(machine, arguments, FUTEX_BITSET_MATCH_ANY, false);
    case FUTEX_WAIT_BITSET:
        return wait_for(machine, arguments, (uint32_t)arguments[5], true);
    case FUTEX_WAKE:
        return wake(machine, arguments, FUTEX_BITSET_MATCH_ANY);
    case FUTEX_WAKE_BITSET:
        return wake(machine, arguments, (uint32_t)arguments[5]);
    case FUTEX_REQUEUE:
        return requeue(machine, arguments, false);
    case FUTEX_CMP_REQUEUE:
        return requeue(machine, arguments, true);
    case FUTEX_WAKE_OP:
        return wake_and_change(machine, arguments);
    case FUTEX_LOCK_PI:
        return lock(machine, arguments, false);
    case FUTEX_TRYLOCK_PI:
        return lock(machine, arguments, true);
    case FUTEX_UNLOCK_PI:
        return unlock(machine, arguments);
    default:
        return -ENOSYS;
    }
}

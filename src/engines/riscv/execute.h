/*
 * execute.h: each straight-line instruction as a function, each branch as a condition, made from
 * the table of instructions.h. For dispatch.c, which inlines them all.
 *
 * The first operand is handed in: it comes from the register, or from the instruction before.
 */
#ifndef TRUEFLAME_RISCV_EXECUTE_H
#define TRUEFLAME_RISCV_EXECUTE_H

#define INLINE static inline __attribute__((always_inline))

#define RD  machine->x[op->rd]
#define RS1 first
#define RS2 machine->x[op->rs2]
#define FD  machine->f[op->rd]
#define FS1 machine->f[op->rs1]
#define FS2 machine->f[op->rs2]
#define FS3 machine->f[op->immediate & 31]
#define RM  ((unsigned)op->immediate >> 8)
#define IMM ((int64_t)op->immediate)
#define PC  (block->address) /* the translator made the immediate relative to it */

/* Guest memory has any alignment and any type. The accesses are volatile so that machine->at is
 * stored before them: a fault looks there. */
#define GUEST_ACCESS(type) volatile type __attribute__((aligned(1), may_alias))

#define LOAD(type, where)                                                                          \
    ({                                                                                             \
        uint64_t address_ = (where);                                                               \
        type value_;                                                                               \
        *(const struct op *volatile *)&machine->at = op;                                           \
        if (LIKELY(memory_is_inside(address_))) {                                                  \
            typedef GUEST_ACCESS(type) access_;                                                    \
            value_ = *(access_ *)(zero + (int64_t)address_);                                       \
        } else {                                                                                   \
            value_ = (type)machine_load_outside(machine, address_, sizeof(type));                  \
        }                                                                                          \
        value_;                                                                                    \
    })

#define STORE(type, where, what)                                                                   \
    do {                                                                                           \
        uint64_t address_ = (where);                                                               \
        *(const struct op *volatile *)&machine->at = op;                                           \
        if (LIKELY(memory_is_inside(address_))) {                                                  \
            typedef GUEST_ACCESS(type) access_;                                                    \
            *(access_ *)(zero + (int64_t)address_) = (type)(what);                                 \
        } else {                                                                                   \
            machine_store_outside(machine, address_, (what), sizeof(type));                        \
        }                                                                                          \
    } while (0)

/* One hart: nothing comes between the load and the store. Misaligned ones fault as on hardware. */
#define ALIGNED(type, where)                                                                       \
    ({                                                                                             \
        uint64_t aligned_ = (where);                                                               \
        if (UNLIKELY(aligned_ % sizeof(type))) {                                                   \
            machine->at = op;                                                                      \
            machine_fault(machine, DISPATCH_BUS, aligned_);                                        \
        }                                                                                          \
        aligned_;                                                                                  \
    })

#define ATOMIC(type, where, expression)                                                            \
    ({                                                                                             \
        uint64_t place_ = ALIGNED(type, where);                                                    \
        type value = (type)RS2, old = LOAD(type, place_);                                          \
        STORE(type, place_, (type)(expression));                                                   \
        old;                                                                                       \
    })

#define LOAD_RESERVED(type, where)                                                                 \
    ({                                                                                             \
        uint64_t place_ = ALIGNED(type, where);                                                    \
        type loaded_ = LOAD(type, place_);                                                         \
        machine->reserved_address = place_;                                                        \
        machine->reserved_value = (uint64_t)(int64_t)loaded_;                                      \
        loaded_;                                                                                   \
    })

/* Succeeds if memory still holds what lr saw: what a compare-and-swap would do. */
#define STORE_CONDITIONAL(type, where, what)                                                       \
    ({                                                                                             \
        uint64_t place_ = ALIGNED(type, where);                                                    \
        bool fails_ = machine->reserved_address != place_;                                         \
        if (!fails_)                                                                               \
            fails_ = (uint64_t)(int64_t)LOAD(type, place_) != machine->reserved_value;             \
        if (!fails_)                                                                               \
            STORE(type, place_, what);                                                             \
        machine->reserved_address = UINT64_MAX;                                                    \
        (uint64_t) fails_;                                                                         \
    })

#define EXECUTE_PLAIN(name, format, match, mask, body)                                             \
    INLINE void execute_##name(struct riscv_machine *machine, const struct op *op,                 \
                               const struct block *block, uint8_t *zero, uint64_t first)           \
    {                                                                                              \
        (void)machine, (void)op, (void)block, (void)zero, (void)first;                             \
        body;                                                                                      \
    }
#define EXECUTE_BRANCH(name, match, mask, condition)                                               \
    INLINE bool condition_##name(struct riscv_machine *machine, const struct op *op,               \
                                 uint64_t first)                                                   \
    {                                                                                              \
        return condition;                                                                          \
    }
#define EXECUTE_CONTROL(name, format, match, mask)
RISCV_INSTRUCTIONS(EXECUTE_PLAIN, EXECUTE_BRANCH, EXECUTE_CONTROL)

EXECUTE_PLAIN(load_constant, I, 0, 0, RD = (uint64_t)IMM)
EXECUTE_PLAIN(move, I, 0, 0, RD = RS1)

INLINE bool condition_beqz(struct riscv_machine *machine, const struct op *op, uint64_t first)
{
    (void)machine, (void)op;
    return first == 0;
}

INLINE bool condition_bnez(struct riscv_machine *machine, const struct op *op, uint64_t first)
{
    (void)machine, (void)op;
    return first != 0;
}

#undef RD
#undef RS1
#undef RS2
#undef FD
#undef FS1
#undef FS2
#undef FS3
#undef RM
#undef IMM
#undef PC

#endif

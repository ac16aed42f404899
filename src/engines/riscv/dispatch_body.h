/*
 * dispatch_body.h: the interpreter's loop; dispatch.c includes it once for each way of running.
 *
 * Threaded code: every operation ends by jumping to the next one's handler, whose address stands
 * in the operation. The bodies come from instructions.h; here is only what they leave open: how a
 * register, memory and the pc are reached, and how blocks follow each other.
 *
 * What always holds at a block's start: machine->slice has already been charged with the whole
 * block. Dispatch returns before a block that the slice cannot pay for.
 */

#ifndef NEXT
#define RD  x[op->rd]
#define RS1 x[op->rs1]
#define IMM ((int64_t)op->immediate)

#define NEXT()                                                                                     \
    do {                                                                                           \
        op++;                                                                                      \
        goto * op->handler;                                                                        \
    } while (0)

/* One more execution of the block in the current context, whose key is at hand. */
#define COUNT()                                                                                    \
    do {                                                                                           \
        if (DETAIL == LINE_DETAIL) {                                                               \
            uint64_t key_ = context_key + block->number;                                           \
            struct count *entry_ = &counts[(key_ * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];         \
            if (UNLIKELY(entry_->key != key_))                                                     \
                entry_ = counts_miss(&profiler->core.counts, key_);                                \
            entry_->count++;                                                                       \
        }                                                                                          \
    } while (0)

/* Goes on with block `next`, which is charged to the slice. */
#define ENTER()                                                                                    \
    do {                                                                                           \
        block = next;                                                                              \
        if (UNLIKELY((machine->slice -= block->instructions) < 0))                                 \
            goto out_of_slice;                                                                     \
        COUNT();                                                                                   \
        op = block->ops;                                                                           \
        goto * op->handler;                                                                        \
    } while (0)

#define FOLLOW(successor)                                                                          \
    do {                                                                                           \
        next = block->successor;                                                                   \
        if (UNLIKELY(!next))                                                                       \
            goto resolve_##successor;                                                              \
        ENTER();                                                                                   \
    } while (0)

#define BRANCH_IF(condition)                                                                       \
    do {                                                                                           \
        if (condition)                                                                             \
            FOLLOW(taken);                                                                         \
        FOLLOW(next);                                                                              \
    } while (0)

/* Finds the block at `target`, in the jump cache first. */
#define LOOK_UP(target)                                                                            \
    do {                                                                                           \
        struct jump_cache_entry *entry_ = blocks_jump_entry(&machine->blocks, target);             \
        next = entry_->block;                                                                      \
        if (UNLIKELY(entry_->address != (target))) {                                               \
            next = blocks_find(machine, target);                                                   \
            if (!next) {                                                                           \
                machine->pc = target;                                                              \
                return DISPATCH_FETCH;                                                             \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* A direct jump into another function goes over a bridge, which tells the profile; decided once,
 * when the jump is first taken. */
#define BRIDGED(successor)                                                                         \
    (DETAIL && (successor)->function != block->function                                            \
         ? blocks_make_bridge(&machine->blocks, successor)                                         \
         : (successor))

/* The current context may have changed. */
#define CONTEXT_CHANGED()                                                                          \
    do {                                                                                           \
        if (DETAIL == LINE_DETAIL)                                                                 \
            context_key = profiler->hot.current->key;                                              \
    } while (0)

/* What ran up to here belongs to the context that is about to be left. */
#define SETTLE()                                                                                   \
    do {                                                                                           \
        if (DETAIL == FUNCTION_DETAIL)                                                             \
            profiling_settle(machine, profiler);                                                   \
    } while (0)
#endif

enum dispatch_stop DISPATCH(struct riscv_machine *machine, const void *const **handlers)
{
    static const void *const labels[MICRO_COUNT] = {
        [RISCV_ILLEGAL] = &&do_ILLEGAL,
#define LABEL_PLAIN(name, format, match, mask, body) [RISCV_##name] = &&do_##name,
#define LABEL_BRANCH(name, match, mask, condition)   [RISCV_##name] = &&do_##name,
#define LABEL_CONTROL(name, format, match, mask)     [RISCV_##name] = &&do_##name,
        RISCV_INSTRUCTIONS(LABEL_PLAIN, LABEL_BRANCH, LABEL_CONTROL)
#define LABEL_MICRO(name) [MICRO_##name] = &&do_##name,
            RISCV_MICROS(LABEL_MICRO)
#define LABEL_FUSED(first, second) [MICRO_##first##_##second] = &&do_##first##_##second,
                RISCV_FUSIONS(LABEL_FUSED, LABEL_FUSED)};

    if (!machine) {
        *handlers = labels;
        return DISPATCH_BUDGET;
    }

    uint64_t *const x = machine->x;
    uint64_t *const f = machine->f;
    uint8_t *const zero = machine->zero;
    struct block *block, *next;
    const struct op *op;
    uint64_t target;
    struct profiler *const profiler = machine->profiler;
    struct count *const counts = DETAIL == LINE_DETAIL ? profiler->core.counts.cache : NULL;
    uint64_t context_key = 0;
    (void)profiler, (void)counts, (void)context_key;

    LOOK_UP(machine->pc);
#if DETAIL
    if (next->function != profiler->hot.current->code)
        profiling_mismatch(machine, next);
#endif
    CONTEXT_CHANGED();
    ENTER();

#define DO_PLAIN(name, format, match, mask, body)                                                  \
    do_##name : execute_##name(machine, op, block, zero, RS1);                                     \
    NEXT();
#define DO_BRANCH(name, match, mask, condition)                                                    \
    do_##name : BRANCH_IF(condition_##name(machine, op, RS1));
#define DO_CONTROL(name, format, match, mask)
    RISCV_INSTRUCTIONS(DO_PLAIN, DO_BRANCH, DO_CONTROL)

do_beqz:
    BRANCH_IF(condition_beqz(machine, op, RS1));
do_bnez:
    BRANCH_IF(condition_bnez(machine, op, RS1));
do_bltz:
    BRANCH_IF((int64_t)RS1 < 0);
do_bgez:
    BRANCH_IF((int64_t)RS1 >= 0);

/* The first one's result is still in a host register when the second one wants it. */
#define DO_PAIR(first, second)                                                                     \
    do_##first##_##second : execute_##first(machine, op, block, zero, RS1);                        \
    target = RD;                                                                                   \
    op++;                                                                                          \
    execute_##second(machine, op, block, zero, target);                                            \
    NEXT();
#define DO_PAIR_BRANCH(first, second)                                                              \
    do_##first##_##second : execute_##first(machine, op, block, zero, RS1);                        \
    target = RD;                                                                                   \
    op++;                                                                                          \
    BRANCH_IF(condition_##second(machine, op, target));
    RISCV_FUSIONS(DO_PAIR, DO_PAIR_BRANCH)

do_load_constant:
    execute_load_constant(machine, op, block, zero, 0);
    NEXT();
do_move:
    execute_move(machine, op, block, zero, RS1);
    NEXT();
do_set_rounding:
    float_round((unsigned)op->immediate);
    NEXT();
do_restore_rounding:
    float_round(machine->fcsr >> 5);
    NEXT();
do_float_away : {
    struct riscv_instruction instruction = riscv_decode((uint32_t)op->immediate);
    float_nearest_away(&instruction, x, f);
    NEXT();
}

do_fall_through:
    FOLLOW(next);
do_jump:
    FOLLOW(taken);

do_call:
    RD = block->end;
#if DETAIL
    /* `call next`: a way to learn the pc, not a call. */
    if (LIKELY(block->target != block->end)) {
        SETTLE();
        profiling_call(machine, profiler, block);
        CONTEXT_CHANGED();
    }
#endif
    next = block->taken;
    if (UNLIKELY(!next)) {
        target = block->target;
        LOOK_UP(target);
        block->taken = next;
    }
    ENTER();

do_call_register:
    target = (RS1 + (uint64_t)IMM) & ~1ull;
    RD = block->end;
    LOOK_UP(target);
#if DETAIL
    SETTLE();
    if (UNLIKELY(profiling_is_swap(profiler, target)))
        profiling_swap(machine, next);
    else
        profiling_call_register(machine, profiler, block, target);
    CONTEXT_CHANGED();
#endif
    ENTER();

do_jump_register:
    target = (RS1 + (uint64_t)IMM) & ~1ull;
    LOOK_UP(target);
#if DETAIL
    SETTLE();
    if (UNLIKELY(!profiling_return(machine, profiler, target)))
        profiling_jump(machine, next);
    else if (UNLIKELY(next->function != profiler->hot.current->code))
        profiling_mismatch(machine, next);
    CONTEXT_CHANGED();
#endif
    ENTER();

do_bridge:
    next = block->taken;
#if DETAIL
    profiling_mismatch(machine, next);
    CONTEXT_CHANGED();
#endif
    ENTER();

do_marker:
#if DETAIL
    profiling_marker(machine, op->immediate);
    CONTEXT_CHANGED();
#endif
    FOLLOW(next);

do_request:
#if DETAIL
    SETTLE();
    profiling_request(machine);
    CONTEXT_CHANGED();
#endif
    FOLLOW(next);

do_csr : {
    enum dispatch_stop stop = machine_access_csr(machine, op, (unsigned)op->immediate & 0xfff);
    if (LIKELY(stop == DISPATCH_BUDGET))
        FOLLOW(next);
    machine->pc = stop == DISPATCH_FLUSH ? block->end : block->end - 4;
    return stop;
}

do_ecall:
    if (UNLIKELY(machine->slice < 1)) {
        machine->pc = block->address;
        return DISPATCH_BUDGET;
    }
    machine->slice--;
    machine->call_address = block->address;
    machine->pc = block->end;
    return DISPATCH_ECALL;
do_fence_i:
    machine->pc = block->end;
    return DISPATCH_FLUSH;
do_ebreak:
    machine->pc = blocks_address_of(machine, block, op);
    return DISPATCH_EBREAK;
do_ILLEGAL:
    machine->pc = blocks_address_of(machine, block, op);
    return DISPATCH_ILLEGAL;

/* jal, jalr and Zicsr are never in a block by their own names. */
do_jal:
do_jalr:
do_csrrw:
do_csrrs:
do_csrrc:
do_csrrwi:
do_csrrsi:
do_csrrci:
    __builtin_unreachable();

resolve_taken:
    target = block->target;
    LOOK_UP(target);
    block->taken = next = BRIDGED(next);
    ENTER();

resolve_next:
    target = block->end;
    LOOK_UP(target);
    block->next = next = BRIDGED(next);
    ENTER();

out_of_slice:
    machine->slice += block->instructions;
    if (block->instructions == BLOCK_SPECIAL) {
        op = block->ops;
        goto * op->handler;
    }
    machine->pc = block->address;
    return DISPATCH_BUDGET;
}

/*
 * blocks.h: guest code as dispatch runs it.
 *
 * A block is straight-line guest code from an address that was jumped to, up to and including the
 * next instruction that can leave the line. Blocks may overlap: code entered in its middle is a
 * block of its own. A block is an array of operations of 16 bytes, one for an instruction or for a
 * pair of them that is common enough (fuse.c), each holding the address of the code that does it.
 * The number of instructions stands in the block, so that running one costs a single subtraction,
 * whatever its length; a fault in the middle gives back what did not run (`ordinal`).
 *
 * Blocks know their successors (`taken`, `next`) once control has passed that way. All of them are
 * thrown away together when the guest changes its code.
 */
#ifndef TRUEFLAME_RISCV_BLOCKS_H
#define TRUEFLAME_RISCV_BLOCKS_H

#include "engines/riscv/decode.h"
#include "engines/riscv/fusions.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operations that are not instructions by themselves. */
/* clang-format off */
#define RISCV_MICROS(MICRO)                                                                        \
    MICRO(load_constant)    /* rd = immediate */                                                   \
    MICRO(move)             /* rd = rs1 */                                                         \
    MICRO(set_rounding)     /* the host rounds as the immediate says */                            \
    MICRO(restore_rounding) /* the host rounds as frm says */                                      \
    MICRO(float_away)       /* immediate: the instruction's word; see float_away.c */              \
    MICRO(marker)           /* addi x0, x0, immediate */                                           \
    MICRO(request)          /* of the program to the profiler, see include/trueflame */            \
    MICRO(fall_through)     /* the block ends, the line goes on */                                 \
    MICRO(jump)             /* to block->target */                                                 \
    MICRO(call)             /* likewise; rd = block->end */                                        \
    MICRO(jump_register)    /* to rs1 + immediate */                                               \
    MICRO(call_register)    /* likewise; rd = block->end */                                        \
    MICRO(csr)              /* immediate: number, rd, rs1; rs2: the operation */                   \
    MICRO(bridge)           /* a jump into another function, for the profile */                    \
    MICRO(beqz) MICRO(bnez) MICRO(bltz) MICRO(bgez)
/* clang-format on */

enum micro {
/* Instructions by their own names come first. */
#define MICRO_PLAIN(name, format, match, mask, body) MICRO_##name = RISCV_##name,
#define MICRO_BRANCH(name, match, mask, condition)   MICRO_##name = RISCV_##name,
#define MICRO_CONTROL(name, format, match, mask)     MICRO_##name = RISCV_##name,
    RISCV_INSTRUCTIONS(MICRO_PLAIN, MICRO_BRANCH, MICRO_CONTROL)
#undef MICRO_PLAIN
#undef MICRO_BRANCH
#undef MICRO_CONTROL
        MICRO_last_instruction = RISCV_OPERATION_COUNT - 1,
#define MICRO_NAME(name) MICRO_##name,
    RISCV_MICROS(MICRO_NAME)
#undef MICRO_NAME
#define MICRO_FUSED(first, second) MICRO_##first##_##second,
        RISCV_FUSIONS(MICRO_FUSED, MICRO_FUSED)
#undef MICRO_FUSED
            MICRO_COUNT,
};

struct op {
    const void *handler;
    uint8_t rd, rs1, rs2;
    uint8_t ordinal; /* instructions of the block before the one that may fault here */
    int32_t immediate;
};

struct block {
    uint32_t instructions;          /* or BLOCK_SPECIAL */
    uint32_t number;                /* the profile's */
    struct block *taken, *next;     /* NULL until control has passed that way */
    uint64_t address, end;          /* `end` is behind the last instruction */
    uint64_t target;                /* of a direct jump, branch or call */
    struct code_function *function; /* the profile's; NULL where only calls tell functions apart */
    uint32_t site;                  /* the profile's number of the call that ends the block, or 0 */
    uint32_t op_count;
    struct op ops[];
};

#define BLOCK_MAX_INSTRUCTIONS 128

/* More instructions than any slice has: dispatch looks closer at such a block before it goes on.
 * Bridges and environment calls, which have no instructions to charge or count. */
#define BLOCK_SPECIAL      0x80000000u
#define JUMP_CACHE_ENTRIES 16384

struct jump_cache_entry {
    uint64_t address;
    struct block *block;
};

struct block_cache {
    struct jump_cache_entry jumps[JUMP_CACHE_ENTRIES]; /* address 1 in a free one */
    struct block **table;                              /* open addressing, by address */
    size_t count, capacity;
    struct block_chunk *chunks;
    struct block *scratch;       /* for blocks_find_short */
    const void *const *handlers; /* of the dispatch in use, indexed by enum micro */
    bool away;                   /* frm is "nearest, ties away": dynamic floats are float_away */
    bool illegal_rounding;       /* frm holds no rounding mode: dynamic floats are illegal */
    bool profiled;               /* blocks end at function boundaries and at markers */
    bool lambda;                 /* CSR instructions do nothing, ebreak is ecall */
    bool only_whole_words;       /* the guest has no compressed code: pc % 4 must be 0 */
};

struct riscv_machine;

void blocks_create(struct block_cache *cache);
void blocks_flush(struct block_cache *cache);
void blocks_destroy(struct block_cache *cache);

/* The block at an address, translated if need be; NULL if there is no code. */
struct block *blocks_find(struct riscv_machine *machine, uint64_t address);

/* A block of at most `most` instructions that nobody else finds; it lives until the next one. */
struct block *blocks_find_short(struct riscv_machine *machine, uint64_t address, unsigned most);

/* The block that holds an operation, and where in guest code the operation stands. */
struct block *blocks_of_op(const struct block_cache *cache, const struct op *op);
uint64_t blocks_address_of(const struct riscv_machine *machine, const struct block *block,
                           const struct op *op);

/* From now on floats are translated for this frm. True if that makes a difference: the caller must
 * flush before it runs another block. */
bool blocks_set_rounding(struct block_cache *cache, unsigned rounding);

/* A block without instructions that tells the profile of the jump and goes on with `target`. */
struct block *blocks_make_bridge(struct block_cache *cache, struct block *target);

static inline struct jump_cache_entry *blocks_jump_entry(struct block_cache *cache,
                                                         uint64_t address)
{
    return &cache->jumps[address >> 1 & (JUMP_CACHE_ENTRIES - 1)];
}

#endif

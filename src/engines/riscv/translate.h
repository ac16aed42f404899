/*
 * translate.h: from guest code at an address to the operations of a block.
 */
#ifndef TRUEFLAME_RISCV_TRANSLATE_H
#define TRUEFLAME_RISCV_TRANSLATE_H

#include "engines/riscv/blocks.h"

/* An instruction gives at most three operations; the last one may be a fall_through. */
#define TRANSLATION_OPS (3 * BLOCK_MAX_INSTRUCTIONS + 1)

struct riscv_machine;

struct translation {
    uint64_t address, end, target;
    uint32_t instructions; /* that are charged when the block is entered; ecall charges itself */
    uint32_t op_count;
    bool calls;                              /* ends with a linking jump */
    uint8_t lengths[BLOCK_MAX_INSTRUCTIONS]; /* of each instruction, in bytes */
    uint16_t before_micro, last_micro; /* the last two operations; MICRO_COUNT: part of a pair */
    struct op ops[TRANSLATION_OPS];
};

/* Translates at most `most` instructions (1 to BLOCK_MAX_INSTRUCTIONS) from `address` on. Returns
 * false if the guest has no code there. */
bool translate_block(struct riscv_machine *machine, uint64_t address, unsigned most,
                     struct translation *translation);

#endif

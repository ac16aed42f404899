/*
 * copy.h: one instruction of the program, written so that it does the same at another address.
 */
#ifndef TRUEFLAME_NATIVE_COPY_H
#define TRUEFLAME_NATIVE_COPY_H

#include "engines/x86_64/decode.h"
#include "engines/native/emit.h"

/* A copy that needs a register for a far operand: `before` makes the operand's address, `body` is
 * the instruction; afterwards the register must be unspilled. */
struct copy {
    uint8_t body[INSTRUCTION_LENGTH_MAX + 1];
    uint8_t length;
    uint8_t displacement_offset; /* of a rip-relative operand that must be fixed, 0: none */
    uint64_t operand;            /* the address it means */
    int8_t scratch;              /* register that holds `operand` instead, -1: none */
};

/* How to copy the instruction at `pc` to somewhere near `address`. */
void copy_plan(const struct instruction *instruction, const uint8_t *bytes, uint64_t pc,
               uint64_t address, struct copy *out);

/* Turns the plan of `jmp r/m` or `call r/m` into `mov rcx, r/m`. */
void copy_load_target(const struct instruction *instruction, const uint8_t *bytes, uint64_t pc,
                      uint64_t address, struct copy *out);

void copy_emit_body(struct emitter *e, const struct copy *copy);

#endif

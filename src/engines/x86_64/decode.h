/*
 * decode.h: just enough of x86-64 to copy it.
 *
 * The translator copies instructions as they are. Of each it must know how long it is, where its
 * memory operand and immediate stand, whether control leaves by it, and which of the six
 * arithmetic flags it needs or surely overwrites. That is a small part of what a disassembler
 * knows and it is regular: the length follows from (map, opcode) through four tables, for vector
 * instructions from the map alone. So instructions newer than this file decode as long as they
 * keep to the maps that exist.
 *
 * Why not a disassembler library: Zydis comes as a shared library that uses libc and vector
 * registers; the engines have neither (the registers are the program's). Zydis is the judge
 * instead: tests/native/decode_test.c compares both over the text of real programs and over random bytes.
 *
 * What always holds:
 *   - a decoded instruction has the length the processor gives it; bytes the processor would
 *     refuse may decode too, and fault when they are run, as they should;
 *   - `flags_read` never misses a flag the instruction depends on; `flags_killed` never names one
 *     that could keep its old value (shifts by a count of zero, REP with rcx = 0).
 */
#ifndef TRUEFLAME_X86_64_DECODE_H
#define TRUEFLAME_X86_64_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define INSTRUCTION_LENGTH_MAX 15

enum flag_bits {
    FLAG_CARRY = 1,
    FLAG_PARITY = 2,
    FLAG_ADJUST = 4,
    FLAG_ZERO = 8,
    FLAG_SIGN = 16,
    FLAG_OVERFLOW = 32,
    FLAGS_ALL = 63,
};

enum instruction_class {
    CLASS_ORDINARY,
    CLASS_JUMP,          /* jmp rel */
    CLASS_JUMP_IF,       /* jcc rel; condition in `opcode & 15` */
    CLASS_LOOP,          /* loop, loope, loopne, jrcxz: rel8 only */
    CLASS_JUMP_INDIRECT, /* jmp r/m */
    CLASS_CALL,          /* call rel */
    CLASS_CALL_INDIRECT, /* call r/m */
    CLASS_RETURN,        /* ret, ret imm16 */
    CLASS_SYSCALL,
    CLASS_TRANSACTION, /* xbegin */
    CLASS_EMULATED,    /* the translator's: repeatable.c does it */
    CLASS_REFUSED,     /* runs on the processor, but not under this engine; `refusal` says why */
};

enum instruction_encoding {
    ENCODING_LEGACY,
    ENCODING_VEX2,
    ENCODING_VEX3,
    ENCODING_EVEX,
    ENCODING_XOP
};

enum prefix_bits {
    PREFIX_66 = 1,
    PREFIX_67 = 2,
    PREFIX_F2 = 4,
    PREFIX_F3 = 8,
    PREFIX_LOCK = 16,
    PREFIX_FS = 32,
    PREFIX_GS = 64,
};

struct instruction {
    uint8_t length;
    uint8_t class;    /* enum instruction_class */
    uint8_t encoding; /* enum instruction_encoding */
    uint8_t map;      /* 0 one byte, 1 0F, 2 0F38, 3 0F3A; the VEX map number otherwise */
    uint8_t opcode;
    uint8_t prefixes;        /* enum prefix_bits */
    uint8_t rex;             /* 0 or the byte 40-4F, where it counts */
    uint8_t vector_register; /* VEX/EVEX vvvv, not inverted; 0 otherwise */
    uint8_t prefix_length;   /* bytes before the escape or opcode; `rex` is the last of them */
    uint8_t opcode_offset;   /* of the (last) opcode byte */
    uint8_t modrm_offset;    /* 0: there is none */
    uint8_t modrm;
    uint8_t sib;
    uint8_t displacement_offset, displacement_size; /* 0, 1 or 4 */
    uint8_t immediate_offset, immediate_size;
    uint8_t flags_read, flags_killed; /* enum flag_bits */
    bool rip_relative;
    int64_t displacement; /* sign-extended */
    int64_t immediate;    /* sign-extended; the distance of a relative branch */
    const char *refusal;
};

/* Decodes at `bytes`, of which `available` may be read. Returns false when they are no
 * instruction of ours or do not suffice; then `length` alone is set: 0, or the number of bytes
 * looked at in vain when more would have been needed (> available). */
bool instruction_decode(const uint8_t *bytes, unsigned available, struct instruction *out);

/* modrm.reg and modrm.rm with their REX/VEX extension bits, 0-15 (EVEX: low four bits). */
unsigned instruction_reg(const struct instruction *instruction);
unsigned instruction_rm(const struct instruction *instruction);

#endif

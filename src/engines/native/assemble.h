/*
 * assemble.h: the instructions that sequences are made of, and the way they borrow registers.
 *
 * A sequence borrows rax, rcx and rdx, those of returns rcx and rsi, whose values wait (emit_spill), and
 * the flags, which wait in thread.saved_flags as lahf and seto have them.
 */
#ifndef TRUEFLAME_NATIVE_ASSEMBLE_H
#define TRUEFLAME_NATIVE_ASSEMBLE_H

#include "engines/native/cache.h"
#include "engines/native/emit.h"
#include "engines/native/vectors.h"

/* translation.h */
void emit_stub(struct emitter *e, uint32_t id);

#define RAX REGISTER_RAX
#define RCX REGISTER_RCX
#define RDX REGISTER_RDX
#define RSP REGISTER_RSP
#define RSI REGISTER_RSI
#define RDI REGISTER_RDI

#define FIELD(member)   ((uint32_t)offsetof(struct native_thread, member))
#define CONTEXT(member) ((uint8_t)offsetof(struct context, member))

enum opcodes {
    OP_LOAD = 0x8b,
    OP_STORE = 0x89,
    OP_ADD_TO = 0x01, /* [m] += r */
    OP_ADD = 0x03,
    OP_AND = 0x23,
    OP_SUB = 0x2b,
    OP_COMPARE = 0x3b, /* r, [m] */
    OP_XOR = 0x33,
    OP_LEA = 0x8d,
    OP_TEST = 0x85,
};

enum conditions {
    IF_BELOW = 2,
    IF_NOT_BELOW = 3,
    IF_EQUAL = 4,
    IF_NOT_EQUAL = 5,
    IF_NOT_ABOVE = 6,
    IF_ABOVE = 7,
    IF_SIGN = 8,
};

/* [base + offset], in as few bytes as it takes, and `reg`; after the opcode. base is not rsp */
static inline void emit_operand(struct emitter *e, unsigned reg, unsigned base, int32_t offset)
{
    bool near = offset == (int8_t)offset;
    emit_byte(e, (near ? 0x40 : 0x80) | reg << 3 | base);
    if (near)
        emit_byte(e, offset);
    else
        emit_u32(e, offset);
}

/* inc qword [base + offset]; base is neither rsp nor r12. */
static inline void emit_increment(struct emitter *e, unsigned base, int offset)
{
    emit_byte(e, 0x48 | base >> 3);
    emit_byte(e, 0xff);
    emit_operand(e, 0, base & 7, offset);
}

/* op reg, [base + offset]; base is not rsp. */
static inline void op_memory(struct emitter *e, uint8_t opcode, unsigned reg, unsigned base,
                             int8_t offset)
{
    emit_byte(e, 0x48);
    emit_byte(e, opcode);
    emit_byte(e, 0x40 | reg << 3 | base);
    emit_byte(e, offset);
}

static inline void op_far(struct emitter *e, uint8_t opcode, unsigned reg, unsigned base,
                          uint32_t offset)
{
    emit_byte(e, 0x48 | (reg & 8) >> 1);
    emit_byte(e, opcode);
    emit_operand(e, reg & 7, base, offset);
}

/* A conditional jump with eight bits of distance ends here; `after` is where its bytes end. */
static inline void end_short_jump(struct emitter *e, uint8_t *after)
{
    after[-1] = e->out - after;
}

static inline void op_register(struct emitter *e, uint8_t opcode, unsigned reg, unsigned other)
{
    emit_byte(e, 0x48);
    emit_byte(e, opcode);
    emit_byte(e, 0xc0 | reg << 3 | other);
}

/* The same on 32 bits. */
static inline void op_register32(struct emitter *e, uint8_t opcode, unsigned reg, unsigned other)
{
    emit_byte(e, opcode);
    emit_byte(e, 0xc0 | reg << 3 | other);
}

static inline void op_thread(struct emitter *e, uint8_t opcode, unsigned reg, uint32_t offset)
{
    emit_thread_operand(e, opcode, reg, offset);
}

/* 81 /n: add 0, and 4, sub 5, cmp 7 */
static inline void op_constant32(struct emitter *e, unsigned operation, unsigned reg,
                                 uint32_t value)
{
    emit_byte(e, 0x81);
    emit_byte(e, 0xc0 | operation << 3 | reg);
    emit_u32(e, value);
}

static inline void op_constant8(struct emitter *e, unsigned operation, unsigned reg, int8_t value)
{
    emit_byte(e, 0x48);
    emit_byte(e, 0x83);
    emit_byte(e, 0xc0 | operation << 3 | reg);
    emit_byte(e, value);
}

/* mov qword [base + offset], value sign-extended from 32 bits. */
static inline void store_constant(struct emitter *e, unsigned base, int8_t offset, uint32_t value)
{
    emit_byte(e, 0x48);
    emit_byte(e, 0xc7);
    emit_byte(e, 0x40 | base);
    emit_byte(e, offset);
    emit_u32(e, value);
}

static inline void jump_if(struct emitter *e, enum conditions condition, uint64_t to)
{
    emit_byte(e, 0x0f);
    emit_byte(e, 0x80 | condition);
    emit_u32(e, to - (e->address + 4));
}

static inline bool fits_in_32(uint64_t value)
{
    return (uint64_t)(int64_t)(int32_t)value == value;
}

/* mov qword gs:[offset], value */
static inline void store_thread_constant(struct emitter *e, uint32_t offset, uint32_t value)
{
    emit_bytes(e, "\x65\x48\xc7\x04\x25", 5);
    emit_u32(e, offset);
    emit_u32(e, value);
}

/* jmp gs:[offset] */
static inline void jump_through_thread(struct emitter *e, uint32_t offset)
{
    emit_bytes(e, "\x65\xff\x24\x25", 4);
    emit_u32(e, offset);
}

/* reg = rsp + 8 */
static inline void lea_above_stack(struct emitter *e, unsigned reg)
{
    emit_bytes(e, "\x48\x8d", 2);
    emit_byte(e, 0x44 | reg << 3);
    emit_bytes(e, "\x24\x08", 2);
}

/* mov eax, number of the context that `context` points to */
static inline void load_context_number(struct emitter *e, unsigned context)
{
    emit_byte(e, 0x8b);
    emit_byte(e, 0x40 | RAX << 3 | context);
    emit_byte(e, CONTEXT(key) + 4);
}

/* ---- borrowing registers ---- */

static inline void save_flags(struct emitter *e) /* rax is spilled */
{
    emit_bytes(e, "\x9f\x0f\x90\xc0", 4); /* lahf; seto al */
    emit_store(e, FIELD(saved_flags), RAX);
}

static inline void restore_flags(struct emitter *e) /* rax is spilled */
{
    emit_load(e, RAX, FIELD(saved_flags));
    emit_bytes(e, "\x04\x7f\x9e", 3); /* add al, 127; sahf */
}

#define ALL_THREE (1 << RAX | 1 << RCX | 1 << RDX)

/* Puts back the borrowed registers of the set, and the flags if they were `saved`. */
static inline void restore(struct emitter *e, bool flags, unsigned registers)
{
    if (flags)
        restore_flags(e);
    for (unsigned reg = RAX; registers >> reg; reg++)
        if (registers >> reg & 1)
            emit_unspill(e, reg);
}

/* One piece of cold code at a time. */
static inline struct emitter cold_begin(void)
{
    return (struct emitter){cache_writable(cache.cold), CACHE_START + cache.cold};
}

static inline void cold_end(const struct emitter *cold)
{
    cache.cold = cold->address - CACHE_START;
}

/* Cold code that counts, puts everything back and leaves by the exit. */
static inline uint64_t cold_exit(uint32_t id, bool flags, unsigned registers, unsigned count)
{
    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    vectors_emit_count(&cold, count);
    restore(&cold, flags, registers);
    emit_stub(&cold, id);
    cold_end(&cold);
    return address;
}

#endif

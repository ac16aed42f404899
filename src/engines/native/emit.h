/*
 * emit.h: machine code, a few bytes at a time. An emitter writes through the writable view and
 * knows the address at which the bytes will run.
 */
#ifndef TRUEFLAME_NATIVE_EMIT_H
#define TRUEFLAME_NATIVE_EMIT_H

#include "engines/native/text.h"
#include "engines/native/thread.h"

struct emitter {
    uint8_t *out;
    uint64_t address; /* where *out will be executed */
};

static inline void emit_byte(struct emitter *e, uint8_t byte)
{
    *e->out++ = byte;
    e->address++;
}

/* Of most the number is known to the compiler, which makes a few stores of them. */
static inline void emit_bytes(struct emitter *e, const void *bytes, unsigned count)
{
    memcpy(e->out, bytes, count);
    e->out += count;
    e->address += count;
}

static inline void emit_u32(struct emitter *e, uint32_t value)
{
    emit_bytes(e, &value, 4);
}

static inline void emit_u64(struct emitter *e, uint64_t value)
{
    emit_bytes(e, &value, 8);
}

/* `opcode` with register `reg` and memory operand gs:[offset], 64 bits wide. The offset is written as
 * one from the instruction's end, which is a byte shorter: the cache is below 2 GB. */
static inline void emit_thread_operand(struct emitter *e, uint8_t opcode, unsigned reg,
                                       uint32_t offset)
{
    emit_byte(e, 0x65);
    emit_byte(e, 0x48 | (reg >> 3) << 2);
    emit_byte(e, opcode);
    emit_byte(e, 0x05 | (reg & 7) << 3);
    emit_u32(e, offset - (e->address + 4));
}

static inline void emit_store(struct emitter *e, uint32_t offset, unsigned reg)
{
    emit_thread_operand(e, 0x89, reg, offset);
}

static inline void emit_load(struct emitter *e, unsigned reg, uint32_t offset)
{
    emit_thread_operand(e, 0x8b, reg, offset);
}

/* The register's value waits in its slot, and is put back. (Sequences: emit_spill in vectors.h.) */
static inline void emit_to_slot(struct emitter *e, unsigned reg)
{
    emit_store(e, THREAD_SPILL + 8 * reg, reg);
}

static inline void emit_from_slot(struct emitter *e, unsigned reg)
{
    emit_load(e, reg, THREAD_SPILL + 8 * reg);
}

/* reg = value, in the shortest form; flags stay. */
static inline void emit_constant(struct emitter *e, unsigned reg, uint64_t value)
{
    bool wide = value >> 32;
    if (wide || reg >= 8)
        emit_byte(e, 0x40 | (wide ? 8 : 0) | reg >> 3);
    emit_byte(e, 0xb8 | (reg & 7));
    if (wide)
        emit_u64(e, value);
    else
        emit_u32(e, value);
}

/* push of a 64-bit constant; only the first instruction can fault. */
static inline void emit_push_constant(struct emitter *e, uint64_t value)
{
    emit_byte(e, 0x68);
    emit_u32(e, value);
    if ((uint64_t)(int64_t)(int32_t)value != value) {
        emit_bytes(e, "\xc7\x44\x24\x04", 4);
        emit_u32(e, value >> 32);
    }
}

/* jmp rel32 to an address that is within reach. */
static inline void emit_jump(struct emitter *e, uint64_t to)
{
    emit_byte(e, 0xe9);
    emit_u32(e, to - (e->address + 4));
}

/* The next four bytes at `ahead` from here shall not straddle two cache lines: another thread may
 * execute the displacement while it is rewritten. */
static inline void emit_align_patch(struct emitter *e, unsigned ahead)
{
    const uint8_t prefix = 0x66, nop = 0x90; /* together one instruction */
    for (unsigned at = (e->address + ahead) & 63; at > 60 && at < 64; at++)
        emit_byte(e, at < 63 ? prefix : nop);
}

#endif

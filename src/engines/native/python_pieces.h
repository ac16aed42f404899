/*
 * python_pieces.h: pieces of the code of python_fast.c and python_line.c, which is on the lists of
 * Python frames (core/python.h).
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_PIECES_H
#define TRUEFLAME_NATIVE_PYTHON_PIECES_H

#include "core/python.h"
#include "engines/native/assemble.h"

/* From one past the newest entry on: that place, the newest one, the one before it, and so on. */
#define ENTRY_BYTES     ((int)sizeof(struct python_entry))
#define OWN(member)     ((int)offsetof(struct python_entry, member))
#define NEWEST(member)  (OWN(member) - ENTRY_BYTES)
#define BEFORE(member)  (OWN(member) - 2 * ENTRY_BYTES)
#define BEFORE2(member) (OWN(member) - 3 * ENTRY_BYTES)

static inline void move(struct emitter *e, unsigned from, int from_offset, unsigned to,
                        int to_offset)
{
    op_far(e, OP_LOAD, RAX, from, from_offset);
    op_far(e, OP_STORE, RAX, to, to_offset);
}

static inline void set_constant(struct emitter *e, unsigned base, int32_t offset, uint32_t value)
{
    emit_bytes(e, "\x48\xc7", 2); /* mov qword [base + offset], value */
    emit_operand(e, 0, base, offset);
    emit_u32(e, value);
}

static inline void compare_zero(struct emitter *e, unsigned base, int32_t offset)
{
    emit_bytes(e, "\x48\x83", 2); /* cmp qword [base + offset], 0 */
    emit_operand(e, 7, base, offset);
    emit_byte(e, 0);
}

static inline void compare_byte(struct emitter *e, unsigned base, int32_t offset, uint8_t value)
{
    emit_byte(e, 0x80); /* cmp byte [base + offset], value */
    emit_operand(e, 7, base, offset);
    emit_byte(e, value);
}

/* mov to, from; `to` is one of the first eight */
static inline void emit_copy(struct emitter *e, unsigned to, unsigned from)
{
    emit_byte(e, 0x48 | from >> 3);
    emit_byte(e, OP_LOAD);
    emit_byte(e, 0xc0 | to << 3 | (from & 7));
}

/* prefetcht0 [base + offset] */
static inline void emit_prefetch(struct emitter *e, unsigned base, int8_t offset)
{
    emit_bytes(e, "\x0f\x18", 2);
    emit_byte(e, 0x48 | base);
    emit_byte(e, offset);
}

/* A short conditional jump, to be ended with end_short_jump. */
static inline uint8_t *jump_ahead(struct emitter *e, enum conditions condition)
{
    emit_byte(e, 0x70 | condition);
    emit_byte(e, 0);
    return e->out;
}

/* The same with 32 bits of distance. */
static inline uint8_t *jump_far_ahead(struct emitter *e, enum conditions condition)
{
    jump_if(e, condition, 0);
    return e->out;
}

static inline void end_far_jump(struct emitter *e, uint8_t *after)
{
    uint32_t distance = e->out - after;
    __builtin_memcpy(after - 4, &distance, 4);
}

static inline uint8_t *jump_always_ahead(struct emitter *e)
{
    emit_jump(e, 0);
    return e->out;
}

/* op reg, dword [base + offset] */
static inline void op_memory32(struct emitter *e, uint8_t opcode, unsigned reg, unsigned base,
                               int8_t offset)
{
    emit_byte(e, opcode);
    emit_byte(e, 0x40 | reg << 3 | base);
    emit_byte(e, offset);
}

/* reg = the frame that comes next; `brings`: the evaluator is called with it */
static inline void emit_next_frame(struct emitter *e, unsigned reg, bool brings)
{
    if (brings)
        emit_copy(e, reg, RSI);
    else
        emit_load(e, reg, FIELD(target));
}

/* rcx = the code object that the frame in rcx runs; references may have tags */
static inline void emit_frame_code(struct emitter *e, const struct python_layout *layout)
{
    op_far(e, OP_LOAD, RCX, RCX, layout->frame_code);
    op_constant8(e, 4, RCX, -8);
}

/* The entry at rdx is of the code in rcx, which is lost. */
static inline void emit_set_first(struct emitter *e, const struct python_layout *layout)
{
    if (layout->ip_bytes == 8) {
        op_far(e, OP_LEA, RCX, RCX, layout->code_bytes);
        op_far(e, OP_STORE, RCX, RDX, OWN(place.first));
    } else {
        set_constant(e, RDX, OWN(place.first), 0);
    }
}

/* rcx = the instruction pointer of the frame in rcx */
static inline void emit_frame_pointer(struct emitter *e, const struct python_layout *layout)
{
    if (layout->ip_bytes == 8) {
        op_far(e, OP_LOAD, RCX, RCX, layout->frame_ip);
        return;
    }
    emit_bytes(e, "\x8b\x89", 2); /* mov ecx, [rcx + frame_ip] */
    emit_u32(e, layout->frame_ip);
}

#define GENERATOR_FLAGS    0x2a0u /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
#define OWNED_BY_GENERATOR 1

/* A generator is called when it goes on, not when its function makes it. For the frame in rcx, which is
 * lost: a jump to be ended with end_short_jump, if it is made; NULL: of this Python, none is seen. */
static inline uint8_t *jump_if_made(struct emitter *e, const struct python_layout *layout)
{
    if (!layout->frame_owner)
        return NULL;
    compare_byte(e, RCX, layout->frame_owner, OWNED_BY_GENERATOR);
    uint8_t *runs = jump_ahead(e, IF_EQUAL);
    emit_frame_code(e, layout);
    emit_bytes(e, "\xf7\x81", 2); /* test dword [rcx + code_flags], GENERATOR_FLAGS */
    emit_u32(e, layout->code_flags);
    emit_u32(e, GENERATOR_FLAGS);
    uint8_t *made = jump_ahead(e, IF_NOT_EQUAL);
    end_short_jump(e, runs);
    return made;
}

/* Jumps that end at the same place. */
struct jumps {
    uint8_t *after[5];
    unsigned count;
};

static inline void jumps_add(struct jumps *jumps, uint8_t *after)
{
    jumps->after[jumps->count++] = after;
}

static inline void jumps_end(struct emitter *e, const struct jumps *jumps)
{
    for (unsigned i = 0; i < jumps->count; i++)
        end_far_jump(e, jumps->after[i]);
}

/* rdx = one past the newest of the stack's Python entries. No room for another one: on to `slow`. */
static inline void emit_room(struct emitter *e, uint64_t slow)
{
    emit_load(e, RDX, FIELD(hot.python_top));
    op_thread(e, OP_COMPARE, RDX, FIELD(hot.python_limit));
    jump_if(e, IF_EQUAL, slow);
}

/* The list ends `more` entries after rdx now. Loses rax. */
static inline void emit_set_top(struct emitter *e, int more)
{
    op_far(e, OP_LEA, RAX, RDX, more * ENTRY_BYTES);
    emit_store(e, FIELD(hot.python_top), RAX);
}

/* On behind the event. */
static inline void emit_done(struct emitter *e)
{
    jump_through_thread(e, FIELD(code));
}

#endif

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
#define STACK(member)   ((uint32_t)offsetof(struct stack, member))

static inline void move(struct emitter *e, unsigned from, int from_offset, unsigned to,
                        int to_offset)
{
    op_far(e, OP_LOAD, RAX, from, from_offset);
    op_far(e, OP_STORE, RAX, to, to_offset);
}

static inline void set_constant(struct emitter *e, unsigned base, int32_t offset, uint32_t value)
{
    emit_bytes(e, "\x48\xc7", 2); /* mov qword [base + offset], value */
    emit_byte(e, 0x80 | base);
    emit_u32(e, offset);
    emit_u32(e, value);
}

static inline void add_constant(struct emitter *e, unsigned base, int32_t offset, int8_t value)
{
    emit_bytes(e, "\x48\x83", 2); /* add qword [base + offset], value */
    emit_byte(e, 0x80 | base);
    emit_u32(e, offset);
    emit_byte(e, value);
}

static inline void compare_zero(struct emitter *e, unsigned base, int32_t offset)
{
    emit_bytes(e, "\x48\x83", 2); /* cmp qword [base + offset], 0 */
    emit_byte(e, 0xb8 | base);
    emit_u32(e, offset);
    emit_byte(e, 0);
}

static inline void compare_byte(struct emitter *e, unsigned base, int32_t offset, uint8_t value)
{
    emit_byte(e, 0x80); /* cmp byte [base + offset], value */
    emit_byte(e, 0xb8 | base);
    emit_u32(e, offset);
    emit_byte(e, value);
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

/* rcx = the stack; rdx = one past the newest of its Python entries, of which there are at least
 * `least`. Fewer, or no room for another one if it is to be `pushed`: on to `slow`. */
static inline void emit_entries(struct emitter *e, unsigned least, bool pushed, uint64_t slow)
{
    _Static_assert(sizeof(struct python_entry) < 128, "a byte's worth");
    emit_load(e, RCX, FIELD(thread));
    op_far(e, OP_LOAD, RCX, RCX, offsetof(struct thread, stack));
    op_far(e, OP_LOAD, RDX, RCX, STACK(python.count));
    op_constant8(e, 7, RDX, least);
    jump_if(e, IF_BELOW, slow);
    if (pushed) {
        op_far(e, OP_COMPARE, RDX, RCX, STACK(python.capacity));
        jump_if(e, IF_EQUAL, slow);
    }
    emit_bytes(e, "\x48\x6b\xd2", 3); /* imul rdx, rdx, ENTRY_BYTES */
    emit_byte(e, ENTRY_BYTES);
    op_far(e, OP_ADD, RDX, RCX, STACK(python.items));
}

/* On behind the event. */
static inline void emit_done(struct emitter *e)
{
    jump_through_thread(e, FIELD(code));
}

#endif

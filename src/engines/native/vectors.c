/* vectors.c: see vectors.h. */
#include "engines/native/vectors.h"
#include "engines/native/cpuid.h"
#include "engines/native/record.h"
#include "engines/native/text.h"

#define FIELD(member) ((uint32_t)offsetof(struct native_thread, member))

/* The constants, pairs of 64 bits: {n, 0} for n below COUNTS, then: */
#define COUNTS 256
enum { CONSTANT_CALL = COUNTS, CONSTANT_PUSH, CONSTANT_END };
_Static_assert(CONSTANT_END * 16 <= CONSTANTS_BYTES, "constants have their room");

/* Components of the processor's extended state. */
enum { STATE_SSE = 1, STATE_AVX = 2, STATE_OPMASK = 5, STATE_HIGH_256 = 6, STATE_HIGH_16 = 7 };

/* The registers from the highest number down; from OWN_PUSH on only with AVX-512. */
enum { OWN_COUNT, OWN_TOP, OWN_LEAF, OWN_RCX, OWN_RAX, OWN_RDX_RSI, OWN_PUSH, OWN_ONE };
_Static_assert(OWN_ONE + 1 == VECTORS_BORROWED, "layout.h");

static struct {
    unsigned count, top, leaf; /* register numbers */
    unsigned running;          /* the one that the block being made counts in */
    unsigned borrowed;         /* how many */
    bool evex;
    unsigned save_length; /* L of the move that saves a whole register: 1 ymm, 2 zmm */
    uint64_t constants;
    uint32_t high_16, high_256; /* where a frame has these components */
} vectors;

/* ---- the processor ---- */

static uint32_t enabled_states(void)
{
    uint32_t low, high, features = cpuid(1, 0).ecx;
    if (!(features >> 27 & 1) || !(features >> 28 & 1)) /* OSXSAVE, AVX */
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool vectors_init(bool narrow)
{
    uint32_t states = enabled_states(), features = cpuid(7, 0).ebx;
    const uint32_t avx = 1 << STATE_SSE | 1 << STATE_AVX;
    const uint32_t avx512 = avx | 1 << STATE_OPMASK | 1 << STATE_HIGH_256 | 1 << STATE_HIGH_16;
    if ((states & avx) != avx)
        return false;
    bool has_512 = (states & avx512) == avx512 && (features >> 16 & 1);
    bool has_short = features >> 31 & 1; /* AVX512VL */
    vectors.save_length = has_512 ? 2 : 1;
    vectors.evex = has_512 && has_short && !narrow;
    vectors.count = vectors.evex ? 31 : 15;
    vectors.top = vectors.evex ? 30 : 14;
    vectors.leaf = vectors.count - OWN_LEAF;
    vectors.running = vectors.count;
    vectors.borrowed = vectors.evex ? VECTORS_BORROWED : OWN_PUSH;
    vectors.high_16 = cpuid(0xd, STATE_HIGH_16).ebx;
    vectors.high_256 = cpuid(0xd, STATE_HIGH_256).ebx;
    return true;
}

void vectors_write_constants(uint64_t *at, uint64_t address)
{
    vectors.constants = address;
    for (unsigned i = 0; i < COUNTS; i++)
        at[2 * i] = i;
    at[2 * CONSTANT_CALL + 1] = 1;
    at[2 * CONSTANT_PUSH] = sizeof(struct stack_entry);
}

/* ---- instructions ---- */

bool vectors_have_halves(void)
{
    return !vectors.evex;
}

/* All in map 0F; `pp` is the prefix 66, F3 or F2 in the encoding's own numbers. */
struct vector_op {
    uint8_t opcode;
    uint8_t pp;
};

static const struct vector_op ADD = {0xd4, 1}, SUBTRACT = {0xfb, 1}, LOAD = {0x6f, 2},
                              STORE = {0x7f, 2}, TO_GENERAL = {0x7e, 1}, FROM_GENERAL = {0x6e, 1},
                              LOAD_TWICE = {0x12, 3}, LOAD_64 = {0x7e, 2}, STORE_64 = {0xd6, 1};

/* What precedes modrm. `first`: vvvv, 0 where the instruction has none. */
static void emit_vex(struct emitter *e, struct vector_op op, unsigned reg, unsigned first,
                     unsigned length)
{
    emit_byte(e, 0xc4);
    emit_byte(e, (reg >> 3 & 1 ? 0 : 0x80) | 0x60 | 1);
    emit_byte(e, 0x80 | (~first & 15) << 3 | length << 2 | op.pp);
    emit_byte(e, op.opcode);
}

static void emit_evex(struct emitter *e, struct vector_op op, unsigned reg, unsigned first,
                      unsigned length)
{
    emit_byte(e, 0x62);
    emit_byte(e, (reg >> 3 & 1 ? 0 : 0x80) | 0x60 | (reg >> 4 & 1 ? 0 : 0x10) | 1);
    emit_byte(e, 0x80 | (~first & 15) << 3 | 4 | op.pp);
    emit_byte(e, length << 5 | (first >> 4 & 1 ? 0 : 8));
    emit_byte(e, op.opcode);
}

static void emit_prefix(struct emitter *e, struct vector_op op, unsigned reg, unsigned first)
{
    if (vectors.evex)
        emit_evex(e, op, reg, first, 0);
    else
        emit_vex(e, op, reg, first, 0);
}

/* op reg, first, [constant] */
static void op_constant(struct emitter *e, struct vector_op op, unsigned reg, unsigned first,
                        unsigned constant)
{
    emit_prefix(e, op, reg, first);
    emit_byte(e, 0x05 | (reg & 7) << 3);
    emit_u32(e, vectors.constants + 16 * constant - (e->address + 4));
}

static unsigned own_register(unsigned which)
{
    return vectors.count - which;
}

static bool is_constant(unsigned which)
{
    return which == OWN_PUSH || which == OWN_ONE;
}

/* The constant that a register has. */
static unsigned own_constant(unsigned which)
{
    if (which == OWN_PUSH)
        return CONSTANT_PUSH;
    return options.line_detail ? 1 : CONSTANT_CALL;
}

/* op reg, first, from: all of them among the highest eight */
static void op_registers(struct emitter *e, struct vector_op op, unsigned reg, unsigned first,
                         unsigned from)
{
    uint8_t *prefix = e->out;
    emit_prefix(e, op, reg, first);
    prefix[1] &= vectors.evex ? ~0x60 : ~0x20; /* X and B, or B, inverted */
    emit_byte(e, 0xc0 | (reg & 7) << 3 | (from & 7));
}

/* op reg, first, the constant, from its register if it has one */
static void op_own_constant(struct emitter *e, struct vector_op op, unsigned reg, unsigned first,
                            unsigned which)
{
    if (vectors.evex)
        op_registers(e, op, reg, first, own_register(which));
    else
        op_constant(e, op, reg, first, own_constant(which));
}

/* op reg, first, [context + self_instructions] */
static void op_context(struct emitter *e, struct vector_op op, unsigned reg, unsigned first,
                       unsigned context)
{
    _Static_assert(offsetof(struct context, calls) ==
                       offsetof(struct context, self_instructions) + 8,
                   "settled together");
    unsigned offset = offsetof(struct context, self_instructions);
    emit_prefix(e, op, reg, first);
    emit_byte(e, 0x40 | (reg & 7) << 3 | context);
    emit_byte(e, vectors.evex ? offset / 16 : offset); /* EVEX scales it */
}

static void emit_thread_place(struct emitter *e, unsigned reg, uint32_t offset)
{
    emit_byte(e, 0x04 | (reg & 7) << 3);
    emit_byte(e, 0x25);
    emit_u32(e, offset);
}

static void op_own(struct emitter *e, struct vector_op op, unsigned reg, uint32_t offset)
{
    emit_byte(e, 0x65);
    emit_prefix(e, op, reg, 0);
    emit_thread_place(e, reg, offset);
}

/* A whole register of the program's. */
static void op_whole(struct emitter *e, struct vector_op op, unsigned reg, uint32_t offset)
{
    emit_byte(e, 0x65);
    if (vectors.save_length == 2)
        emit_evex(e, op, reg, 0, 2);
    else
        emit_vex(e, op, reg, 0, 1);
    emit_thread_place(e, reg, offset);
}

void vectors_count_leaf(bool leaf)
{
    vectors.running = leaf ? vectors.leaf : vectors.count;
}

void vectors_emit_count(struct emitter *e, unsigned instructions)
{
    if (instructions)
        op_constant(e, ADD, vectors.running, vectors.running, instructions);
}

void vectors_emit_add(struct emitter *e, int instructions)
{
    if (instructions < 0)
        op_constant(e, SUBTRACT, vectors.running, vectors.running, -instructions);
    else
        vectors_emit_count(e, instructions);
}

static void emit_settle(struct emitter *e, unsigned context)
{
    op_context(e, ADD, vectors.count, vectors.count, context);
    op_context(e, STORE, vectors.count, 0, context);
}

void vectors_emit_settle_from(struct emitter *e, unsigned context, unsigned instructions)
{
    if (!instructions) {
        vectors_emit_settle(e, context, false);
        return;
    }
    emit_settle(e, context);
    op_constant(e, LOAD, vectors.count, 0, instructions);
}

/* count = {0, 0} */
static void emit_clear_count(struct emitter *e)
{
    /* In VEX the second register has its extension bit where emit_prefix has none to give. */
    if (vectors.evex)
        emit_bytes(e, "\x62\x01\x85\x00\xef\xff", 6); /* vpxorq xmm31, xmm31, xmm31 */
    else
        emit_bytes(e, "\xc4\x41\x01\xef\xff", 5); /* vpxor xmm15, xmm15, xmm15 */
}

void vectors_emit_settle(struct emitter *e, unsigned context, bool begins)
{
    if (options.line_detail)
        return;
    emit_settle(e, context);
    if (begins) {
        op_own_constant(e, LOAD, vectors.count, 0, OWN_ONE);
        return;
    }
    emit_clear_count(e);
}

void vectors_emit_settle_leaf(struct emitter *e, unsigned context)
{
    op_context(e, ADD, vectors.leaf, vectors.leaf, context);
    op_context(e, STORE, vectors.leaf, 0, context);
    op_own_constant(e, LOAD, vectors.leaf, 0, OWN_ONE);
}

/* op leaf, [base + offset]: at line detail, where there are no leaves, that register is free. */
static void op_word(struct emitter *e, struct vector_op op, unsigned base, int offset)
{
    int scaled = vectors.evex ? offset / 8 : offset; /* EVEX scales what has eight bits */
    bool near = scaled == (int8_t)scaled;
    emit_prefix(e, op, vectors.leaf, 0);
    emit_byte(e, (near ? 0x40 : 0x80) | (vectors.leaf & 7) << 3 | base);
    if (near)
        emit_byte(e, scaled);
    else
        emit_u32(e, offset);
}

void vectors_emit_increment(struct emitter *e, unsigned base, int offset)
{
    op_word(e, LOAD_64, base, offset);
    op_own_constant(e, ADD, vectors.leaf, vectors.leaf, OWN_ONE);
    op_word(e, STORE_64, base, offset);
}

void vectors_emit_settle_line(struct emitter *e, unsigned context)
{
    op_word(e, LOAD_64, context, offsetof(struct context, calls));
    op_registers(e, ADD, vectors.leaf, vectors.leaf, vectors.count);
    op_word(e, STORE_64, context, offsetof(struct context, calls));
    emit_clear_count(e);
}

/* op leaf, first, [base + offset] */
static void op_pair(struct emitter *e, struct vector_op op, unsigned first, unsigned base,
                    int offset)
{
    emit_prefix(e, op, vectors.leaf, first);
    emit_byte(e, 0x80 | (vectors.leaf & 7) << 3 | base);
    emit_u32(e, offset);
}

void vectors_emit_load_pair(struct emitter *e, unsigned base, int offset)
{
    op_pair(e, LOAD, 0, base, offset);
}

void vectors_emit_store_pair(struct emitter *e, unsigned base, int offset)
{
    op_pair(e, STORE, 0, base, offset);
}

void vectors_emit_tell_pair(struct emitter *e, uint32_t field)
{
    op_own(e, STORE, vectors.leaf, field);
}

void vectors_emit_load_twice(struct emitter *e, unsigned base, int offset)
{
    op_pair(e, LOAD_TWICE, 0, base, offset);
}

void vectors_emit_add_pair(struct emitter *e, unsigned base)
{
    op_pair(e, ADD, vectors.leaf, base, 0);
}

/* vmovq between a vector register and `reg`, one of the first eight */
static void op_general(struct emitter *e, struct vector_op op, unsigned vector, unsigned reg)
{
    emit_prefix(e, op, vector, 0);
    emit_byte(e, 0xc0 | (vector & 7) << 3 | reg);
}

/* Which of the vector registers the program's `reg` waits in; 0: in none. */
static unsigned own_for(unsigned reg)
{
    switch (reg) {
    case REGISTER_RAX:
        return OWN_RAX;
    case REGISTER_RCX:
        return OWN_RCX;
    case REGISTER_RDX:
    case REGISTER_RSI:
        return OWN_RDX_RSI;
    default:
        return 0;
    }
}

void emit_spill(struct emitter *e, unsigned reg)
{
    if (own_for(reg))
        op_general(e, FROM_GENERAL, own_register(own_for(reg)), reg);
    else
        emit_to_slot(e, reg);
}

void emit_unspill(struct emitter *e, unsigned reg)
{
    if (own_for(reg))
        op_general(e, TO_GENERAL, own_register(own_for(reg)), reg);
    else
        emit_from_slot(e, reg);
}

void vectors_emit_load_top(struct emitter *e, unsigned reg)
{
    op_general(e, TO_GENERAL, vectors.top, reg);
}

void vectors_emit_push(struct emitter *e)
{
    op_own_constant(e, ADD, vectors.top, vectors.top, OWN_PUSH);
}

void vectors_emit_pop(struct emitter *e)
{
    op_own_constant(e, SUBTRACT, vectors.top, vectors.top, OWN_PUSH);
}

void vectors_emit_store_own(struct emitter *e)
{
    op_own(e, STORE, vectors.count, FIELD(instructions));
    op_own(e, STORE_64, vectors.top, FIELD(hot.top));
}

void vectors_emit_load_own(struct emitter *e)
{
    op_own(e, LOAD, vectors.count, FIELD(instructions));
    op_own(e, LOAD_64, vectors.top, FIELD(hot.top));
}

static void op_program(struct emitter *e, struct vector_op op, unsigned which,
                       enum vectors_given given)
{
    if (given == GIVEN_WHOLE)
        op_whole(e, op, own_register(which), FIELD(vectors[which]));
    else
        op_own(e, op, own_register(which), FIELD(vectors[which]));
}

void vectors_emit_give(struct emitter *e, enum vectors_given given)
{
    vectors_emit_store_own(e);
    op_own(e, STORE, vectors.leaf, FIELD(leaf_instructions));
    for (unsigned i = 0; i < vectors.borrowed; i++)
        op_program(e, LOAD, i, given);
}

void vectors_emit_take(struct emitter *e, enum vectors_given given,
                       uint64_t loads[VECTORS_BORROWED])
{
    for (unsigned i = 0; i < vectors.borrowed; i++)
        op_program(e, STORE, i, given);
    loads[OWN_COUNT] = e->address;
    op_own(e, LOAD, vectors.count, FIELD(instructions));
    loads[OWN_TOP] = e->address;
    op_own(e, LOAD_64, vectors.top, FIELD(hot.top));
    loads[OWN_LEAF] = e->address;
    op_own(e, LOAD, vectors.leaf, FIELD(leaf_instructions));
    for (unsigned i = OWN_RCX; i < vectors.borrowed; i++) {
        loads[i] = e->address;
        if (is_constant(i))
            op_constant(e, LOAD, own_register(i), 0, own_constant(i));
        else if (vectors_have_halves()) /* nothing above them any more */
            op_constant(e, LOAD, own_register(i), 0, 0);
    }
}

/* ---- the program's use of them ---- */

static bool is_ours(unsigned reg)
{
    return vectors.count - reg < vectors.borrowed;
}

/* fxsave, fxrstor, xsave, xrstor, xsaveopt; xrstors, xsavec, xsaves */
static bool moves_all(const struct instruction *instruction)
{
    unsigned extension = instruction->modrm >> 3 & 7;
    bool memory = instruction->modrm < 0xc0;
    if (instruction->encoding != ENCODING_LEGACY || instruction->map != 1 || !memory)
        return false;
    if (instruction->opcode == 0xae)
        return extension <= 1 || (extension >= 4 && extension <= 6);
    return instruction->opcode == 0xc7 && extension >= 3 && extension <= 5;
}

bool vectors_saves_state(const struct instruction *instruction)
{
    bool fixed_size = instruction->opcode == 0xae && (instruction->modrm >> 3 & 7) <= 1;
    return moves_all(instruction) && !fixed_size;
}

/* pext eax, eax, [7]: the bits that the constant has; the flags stay. */
void vectors_emit_limit_state(struct emitter *e)
{
    emit_bytes(e, "\xc4\xe2\x7a\xf5\x05", 5);
    emit_u32(e, vectors.constants + 16 * PROCESSOR_STATE - (e->address + 4));
}

/* Bits beside their meaning in legacy instructions are inverted; index of gathers included. */
static bool evex_names_ours(const struct instruction *instruction, const uint8_t *bytes)
{
    const uint8_t *payload = bytes + instruction->opcode_offset - 3;
    unsigned modrm = instruction->modrm, high_reg = (payload[0] & 0x10 ? 0 : 16);
    unsigned reg = high_reg | (payload[0] & 0x80 ? 0 : 8) | (modrm >> 3 & 7);
    unsigned high_first = payload[2] & 8 ? 0 : 16;
    unsigned first = high_first | (~payload[1] >> 3 & 15);
    unsigned rm = (payload[0] & 0x40 ? 0 : 16) | (payload[0] & 0x20 ? 0 : 8) | (modrm & 7);
    unsigned index = high_first | (payload[0] & 0x40 ? 0 : 8) | (instruction->sib >> 3 & 7);
    if (!vectors.evex)
        return true;
    /* Some take four registers from a multiple of four on. */
    return is_ours(reg) || is_ours(first) || is_ours(first | 3) ||
           (modrm >= 0xc0 ? is_ours(rm) : is_ours(index));
}

static bool is_vector_opcode(const struct instruction *instruction)
{
    unsigned opcode = instruction->opcode;
    switch (instruction->map) {
    case 1:
        return (opcode >= 0x10 && opcode <= 0x17) || (opcode >= 0x28 && opcode <= 0x2f) ||
               (opcode >= 0x50 && opcode <= 0x7f) || opcode == 0xc2 ||
               (opcode >= 0xc4 && opcode <= 0xc6) || opcode >= 0xd0;
    case 2:
        return opcode < 0xf0;
    case 3:
        return true;
    default:
        return false;
    }
}

bool vectors_zeroed_by(const struct instruction *instruction)
{
    return instruction->encoding != ENCODING_LEGACY && instruction->map == 1 &&
           instruction->opcode == 0x77;
}

static bool narrow_names_ours(const struct instruction *instruction)
{
    if (instruction->encoding == ENCODING_LEGACY) {
        if (!is_vector_opcode(instruction))
            return false;
    } else {
        bool by_immediate =
            instruction->immediate_size && is_ours(instruction->immediate >> 4 & 15);
        if (vectors_zeroed_by(instruction) || by_immediate || is_ours(instruction->vector_register))
            return true;
    }
    unsigned index = (instruction->rex & 2) << 2 | (instruction->sib >> 3 & 7); /* of gathers */
    if (is_ours(instruction_reg(instruction)))
        return true;
    if (instruction->modrm >= 0xc0)
        return is_ours(instruction_rm(instruction));
    return instruction->encoding != ENCODING_LEGACY && instruction->sib && is_ours(index);
}

bool vectors_touched(const struct instruction *instruction, const uint8_t *bytes)
{
    if (moves_all(instruction))
        return true;
    if (instruction->encoding == ENCODING_EVEX)
        return evex_names_ours(instruction, bytes);
    return !vectors.evex && narrow_names_ours(instruction);
}

/* SSE instructions leave alone what they do not know of. */
enum vectors_given vectors_wanted(const struct instruction *instruction)
{
    bool lower = instruction->encoding == ENCODING_LEGACY && !moves_all(instruction);
    return lower && vectors_have_halves() ? GIVEN_LOWER : GIVEN_WHOLE;
}

bool vectors_upper_in_use(const struct native_thread *thread)
{
    const unsigned lower = 16, words = sizeof *thread->vectors / 8;
    uint64_t all = 0;
    if (!vectors_have_halves())
        return true;
    for (unsigned i = 0; i < vectors.borrowed; i++) {
        uint64_t value[8];
        memcpy(value, thread->vectors[i], sizeof value);
        for (unsigned k = lower / 8; k < words; k++)
            all |= value[k];
    }
    return all;
}

/* ---- signal frames ---- */

static const void *constant_value(unsigned constant)
{
    return (const uint8_t *)vectors.constants + 16 * constant;
}

/* What a frame has of component `number` at `offset`. Where the processor left it out, its content
 * is zero: it is put in. */
static uint8_t *frame_component(uint8_t *state, unsigned number, uint32_t offset, uint32_t size)
{
    uint64_t *present = (uint64_t *)(state + 512);
    if (!(*present >> number & 1)) {
        memset(state + offset, 0, size);
        *present |= 1ul << number;
    }
    return state + offset;
}

static void swap_bytes(uint8_t *one, uint8_t *other, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t byte = one[i];
        one[i] = other[i];
        other[i] = byte;
    }
}

/* Exchanges register `reg` of the frame with `value`, 64 bytes. */
static void swap_in_frame(uint8_t *state, unsigned reg, uint8_t *value)
{
    if (vectors.evex) {
        swap_bytes(frame_component(state, STATE_HIGH_16, vectors.high_16, 1024) + 64 * (reg - 16),
                   value, 64);
        return;
    }
    swap_bytes(frame_component(state, STATE_SSE, 160, 256) + 16 * reg, value, 16);
    swap_bytes(frame_component(state, STATE_AVX, 576, 256) + 16 * reg, value + 16, 16);
    if (vectors.save_length == 2)
        swap_bytes(frame_component(state, STATE_HIGH_256, vectors.high_256, 512) + 32 * reg,
                   value + 32, 32);
}

void vectors_add_upper_in_frame(const struct native_thread *thread, struct sigcontext *context)
{
    uint8_t *state = (uint8_t *)context->fpstate;
    for (unsigned i = 0; i < vectors.borrowed; i++) {
        const uint8_t *value = thread->vectors[i];
        unsigned reg = own_register(i);
        memcpy(frame_component(state, STATE_AVX, 576, 256) + 16 * reg, value + 16, 16);
        if (vectors.save_length == 2)
            memcpy(frame_component(state, STATE_HIGH_256, vectors.high_256, 512) + 32 * reg,
                   value + 32, 32);
    }
}

void vectors_take_in_frame(struct native_thread *thread, struct sigcontext *context,
                           const uint64_t loads[VECTORS_BORROWED])
{
    uint8_t *state = (uint8_t *)context->fpstate;
    for (unsigned i = 0; i < vectors.borrowed; i++) {
        if (context->rip > loads[i])
            continue;
        memset(thread->vectors[i], 0, sizeof thread->vectors[i]);
        if (i == OWN_COUNT)
            memcpy(thread->vectors[i], &thread->instructions, 16);
        else if (i == OWN_TOP)
            memcpy(thread->vectors[i], &thread->hot.top, 8);
        else if (i == OWN_LEAF)
            memcpy(thread->vectors[i], &thread->leaf_instructions, 16);
        else if (is_constant(i))
            memcpy(thread->vectors[i], constant_value(own_constant(i)), 16);
        swap_in_frame(state, own_register(i), thread->vectors[i]);
    }
}

void vectors_give_in_frame(struct native_thread *thread, struct sigcontext *context)
{
    uint8_t *state = (uint8_t *)context->fpstate;
    for (unsigned i = 0; i < vectors.borrowed; i++)
        swap_in_frame(state, own_register(i), thread->vectors[i]);
    memcpy(&thread->instructions, thread->vectors[OWN_COUNT], 16);
    memcpy(&thread->hot.top, thread->vectors[OWN_TOP], 8);
    memcpy(&thread->leaf_instructions, thread->vectors[OWN_LEAF], 16);
    for (unsigned reg = 0; reg < 8; reg++)
        if (own_for(reg))
            memcpy(&thread->spill[reg], thread->vectors[own_for(reg)], 8);
}

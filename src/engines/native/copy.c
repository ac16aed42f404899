/*
 * copy.c: see copy.h.
 *
 * Two things make bytes depend on where they stand or who runs them: operands relative to rip,
 * and the gs prefix, whose base is the engine's. The program's gs base is 0 (arch_prctl refuses
 * another), so the prefix is made one that means nothing. A rip-relative operand gets a new displacement; when its
 * target is out of reach, a register takes its place:
 *
 *     op reg, [rip + d]   ->   spill rsi;  mov rsi, address;  op reg, [rsi];  unspill rsi
 *
 * The register is one of rsi, rdi, rcx, rax that the instruction does not name. Instructions with
 * a memory operand by modrm use neither rsi nor rdi implicitly, and name two registers at most.
 */
#include "engines/native/copy.h"

static void drop_bytes(struct copy *copy, unsigned at, unsigned count)
{
    copy->length -= count;
    for (unsigned i = at; i < copy->length; i++)
        copy->body[i] = copy->body[i + count];
}

/* One that means nothing takes its place: with a byte less, a REX byte before it would count. */
static void blank_gs_prefix(const struct instruction *instruction, struct copy *copy)
{
    for (unsigned i = 0; instruction->prefixes & PREFIX_GS && i < instruction->prefix_length; i++)
        if (copy->body[i] == 0x64 || copy->body[i] == 0x65)
            copy->body[i] = 0x3e;
}

static unsigned pick_scratch(const struct instruction *instruction)
{
    static const uint8_t candidates[] = {REGISTER_RSI, REGISTER_RDI, REGISTER_RCX, REGISTER_RAX};
    for (unsigned i = 0;; i++) {
        bool named = candidates[i] == instruction_reg(instruction);
        if (!named && candidates[i] != instruction->vector_register)
            return candidates[i];
    }
}

/* The operand becomes [scratch]: no displacement; extension bits of base and index mean 0. */
static void use_scratch(const struct instruction *instruction, struct copy *copy)
{
    unsigned modrm = instruction->modrm_offset;
    unsigned opcode = instruction->opcode_offset;
    copy->body[modrm] = (copy->body[modrm] & 0x38) | copy->scratch;
    switch (instruction->encoding) {
    case ENCODING_LEGACY:
        if (instruction->rex)
            copy->body[instruction->prefix_length - 1] &= ~3;
        break;
    case ENCODING_VEX2:
        break;
    case ENCODING_VEX3:
    case ENCODING_XOP:
        copy->body[opcode - 2] |= 0x60;
        break;
    case ENCODING_EVEX:
        copy->body[opcode - 3] |= 0x60;
        break;
    }
    drop_bytes(copy, modrm + 1, 4);
}

static void plan_operand(const struct instruction *instruction, uint64_t pc, uint64_t address,
                         struct copy *out)
{
    out->operand = pc + instruction->length + instruction->displacement;
    if (instruction->prefixes & PREFIX_67)
        out->operand = (uint32_t)out->operand;
    int64_t distance = out->operand - address;
    const int64_t reach = 0x7fff0000; /* the copy may stand some bytes further on */
    if (distance > -reach && distance < reach) {
        out->displacement_offset = instruction->displacement_offset;
        return;
    }
    out->scratch = pick_scratch(instruction);
    use_scratch(instruction, out);
}

void copy_plan(const struct instruction *instruction, const uint8_t *bytes, uint64_t pc,
               uint64_t address, struct copy *out)
{
    *out = (struct copy){.length = instruction->length, .scratch = -1};
    memcpy(out->body, bytes, instruction->length);
    blank_gs_prefix(instruction, out);
    if (instruction->rip_relative)
        plan_operand(instruction, pc, address, out);
}

/*
 * FF /2 and FF /4 become 8B with rcx as register: REX gets W and loses R. A REX byte is put in
 * where there is none; other prefixes stay, but F2 (bnd) and 66 have no business on a mov.
 */
void copy_load_target(const struct instruction *instruction, const uint8_t *bytes, uint64_t pc,
                      uint64_t address, struct copy *out)
{
    struct instruction load = *instruction;
    uint8_t rewritten[INSTRUCTION_LENGTH_MAX + 2];
    unsigned at = 0;
    load.prefixes &= PREFIX_67 | PREFIX_FS;
    if (load.prefixes & PREFIX_67)
        rewritten[at++] = 0x67;
    if (load.prefixes & PREFIX_FS)
        rewritten[at++] = 0x64;
    load.rex = 0x48 | (instruction->rex & 3);
    rewritten[at++] = load.rex;
    load.prefix_length = at;
    int moved = (int)instruction->opcode_offset - (int)at;
    memcpy(rewritten + at, bytes + instruction->opcode_offset,
           instruction->length - instruction->opcode_offset);
    rewritten[at] = 0x8b;
    rewritten[at + 1] = (instruction->modrm & 0xc7) | REGISTER_RCX << 3;
    load.opcode = 0x8b;
    load.modrm = rewritten[at + 1];
    load.opcode_offset = at;
    load.modrm_offset = at + 1;
    load.length = instruction->length - moved;
    if (load.displacement_size)
        load.displacement_offset = instruction->displacement_offset - moved;

    *out = (struct copy){.length = load.length, .scratch = -1};
    memcpy(out->body, rewritten, load.length);
    if (!instruction->rip_relative)
        return;
    plan_operand(&load, pc + moved, address, out);
    if (out->scratch >= 0) { /* rcx is about to be overwritten: it can hold the address itself */
        out->scratch = REGISTER_RCX;
        out->body[load.modrm_offset] = REGISTER_RCX << 3 | REGISTER_RCX;
    }
}

void copy_emit_body(struct emitter *e, const struct copy *copy)
{
    uint8_t *start = e->out;
    emit_bytes(e, copy->body, copy->length);
    if (!copy->displacement_offset)
        return;
    uint32_t displacement = copy->operand - e->address;
    memcpy(start + copy->displacement_offset, &displacement, 4);
}

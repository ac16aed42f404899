/*
 * random_instructions.h: instructions of any kind, as random bytes that Zydis takes for one.
 *
 * Not those that would leave the block, that may hang or change memory anywhere, or whose outcome
 * nobody can repeat.
 */
#ifndef RANDOM_INSTRUCTIONS_H
#define RANDOM_INSTRUCTIONS_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static bool chance(unsigned of)
{
    return next_random() % of == 0;
}

static void fill(void *memory, size_t bytes)
{
    for (uint64_t *word = memory; bytes >= 8; bytes -= 8)
        *word++ = next_random();
}

struct piece {
    uint8_t bytes[15];
    uint8_t length;
    uint8_t relative; /* where the displacement from rip is; 0: none */
    int8_t base;      /* register that has to point to the data; -1: none */
    bool is_aligned;
};

#define PIECES 2048
static struct piece pieces[PIECES];
static ZydisDecoder decoder;

static bool is_wanted_category(ZydisInstructionCategory category)
{
    switch (category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_PCONFIG:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_AMX_TILE:
        return false;
    default:
        return true;
    }
}

/* Those that nobody can repeat, or that wait; those that store where an x87 instruction was. */
static bool is_wanted(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDPRU:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_SGDT:
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_SMSW:
        return false;
    default:
        return true;
    }
}

/* Its memory operand is anywhere, by the number of the bit. */
static bool is_far_bit(const ZydisDecodedInstruction *instruction,
                       const ZydisDecodedOperand *operands)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS:
        return operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
               operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    default:
        return false;
    }
}

static bool is_stack_pointer(ZydisRegister reg)
{
    return reg == ZYDIS_REGISTER_RSP || reg == ZYDIS_REGISTER_ESP || reg == ZYDIS_REGISTER_SP ||
           reg == ZYDIS_REGISTER_SPL;
}

static bool is_wanted_operand(const ZydisDecodedOperand *operand, struct piece *piece)
{
    if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        ZydisRegisterClass class = ZydisRegisterGetClass(operand->reg.value);
        bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        return class != ZYDIS_REGCLASS_SEGMENT && class != ZYDIS_REGCLASS_CONTROL &&
               class != ZYDIS_REGCLASS_DEBUG && !(writes && is_stack_pointer(operand->reg.value));
    }
    if (operand->type == ZYDIS_OPERAND_TYPE_POINTER)
        return false;
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
        return true;
    if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
        operand->mem.type != ZYDIS_MEMOP_TYPE_MEM || operand->size > 512 * 8)
        return false;
    piece->is_aligned = operand->size > 64;
    return true;
}

static void put_prefixes(uint8_t *bytes, unsigned *length)
{
    static const uint8_t prefixes[] = {0x66, 0x66, 0xf2, 0xf3, 0xf0, 0x67, 0x2e, 0x3e};
    while (chance(2) && *length < 3)
        bytes[(*length)++] = prefixes[next_random() % sizeof prefixes];
}

/* Up to and with the opcode. */
static void put_opcode(uint8_t *bytes, unsigned *length)
{
    unsigned kind = next_random() % 8;
    if (kind < 4) {
        put_prefixes(bytes, length);
        if (chance(2))
            bytes[(*length)++] = 0x40 | next_random() % 16;
        if (kind > 0)
            bytes[(*length)++] = 0x0f;
        if (kind == 3)
            bytes[(*length)++] = chance(2) ? 0x38 : 0x3a;
    } else if (kind < 6) {
        bytes[(*length)++] = 0xc4;
        bytes[(*length)++] = (next_random() & 0xe0) | (1 + next_random() % 3);
        bytes[(*length)++] = next_random();
    } else {
        bytes[(*length)++] = 0x62;
        bytes[(*length)++] = (next_random() & 0xf0) | (1 + next_random() % (chance(4) ? 6 : 3));
        bytes[(*length)++] = next_random() | 4;
        bytes[(*length)++] = next_random();
    }
    bytes[(*length)++] = next_random();
}

/* A register, the data from rip, or by a base register with and without a displacement. */
static void put_operands(uint8_t *bytes, unsigned length)
{
    unsigned form = next_random() % 8;
    uint8_t *modrm = &bytes[length];
    fill(bytes + length, 16);
    memset(modrm + 1, 0, 5);
    if (form < 3)
        *modrm |= 0xc0;
    else if (form < 6)
        *modrm = (*modrm & 0x38) | 5;
    else if (form == 6)
        *modrm = (*modrm & 0x38) | 0x40 | next_random() % 4; /* [r + 8 bits] */
    if (chance(2))
        modrm[5] = next_random(); /* an immediate behind a displacement */
}

static bool make_piece(struct piece *piece)
{
    uint8_t bytes[48] = {0};
    unsigned length = 0;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    put_opcode(bytes, &length);
    put_operands(bytes, length);
    *piece = (struct piece){.base = -1};
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, 15, &instruction, operands)) ||
        !is_wanted_category(instruction.meta.category) || !is_wanted(instruction.mnemonic) ||
        is_far_bit(&instruction, operands))
        return false;
    for (unsigned i = 0; i < instruction.operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (!is_wanted_operand(operand, piece))
            return false;
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (instruction.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS))
            return false;
        ZydisRegister base = operand->mem.base;
        if (base == ZYDIS_REGISTER_RIP || base == ZYDIS_REGISTER_EIP)
            piece->relative = instruction.raw.disp.offset;
        else if (base >= ZYDIS_REGISTER_RAX && base <= ZYDIS_REGISTER_R15 &&
                 operand->mem.index == ZYDIS_REGISTER_NONE && base != ZYDIS_REGISTER_RSP &&
                 !operand->mem.disp.value)
            piece->base = base - ZYDIS_REGISTER_RAX;
        else if (operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN)
            return false;
    }
    piece->length = instruction.length;
    memcpy(piece->bytes, bytes, instruction.length);
    return true;
}

#endif

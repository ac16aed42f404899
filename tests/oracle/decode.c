/*
 * decode.c: what an instruction does to the flow of control.
 *
 * Prefixes are stepped over and the opcode looked at; lengths are never needed, because the
 * processor says where each instruction ends.
 */
#include "oracle.h"
#include <string.h>

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 ||
           byte == 0xf0 || (byte & 0xf0) == 0x40;
}

static bool is_string_instruction(uint8_t opcode)
{
    return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf) ||
           (opcode >= 0x6c && opcode <= 0x6f);
}

static enum flow decode_group_ff(uint8_t modrm)
{
    switch ((modrm >> 3) & 7) {
    case 2:
    case 3:
        return FLOW_CALL;
    case 4:
    case 5:
        return FLOW_JUMP_INDIRECT;
    }
    return FLOW_NEXT;
}

enum flow decode_flow(const uint8_t *bytes, size_t count)
{
    bool repeat = false;
    size_t i = 0;
    if (count >= 3 && memcmp(bytes, "\x48\x87\xdb", 3) == 0) /* xchg %rbx,%rbx */
        return FLOW_REQUEST;
    for (; i < count && is_prefix(bytes[i]); i++)
        repeat |= bytes[i] == 0xf2 || bytes[i] == 0xf3;
    if (i >= count)
        return FLOW_NEXT;
    uint8_t opcode = bytes[i], second = i + 1 < count ? bytes[i + 1] : 0;
    if (repeat && is_string_instruction(opcode))
        return FLOW_REPEAT;
    if (opcode == 0x0f)
        return second == 0x05 ? FLOW_SYSCALL : (second & 0xf0) == 0x80 ? FLOW_BRANCH : FLOW_NEXT;
    if (opcode == 0xe8)
        return FLOW_CALL;
    if (opcode == 0xc3 || opcode == 0xc2)
        return FLOW_RETURN;
    if (opcode == 0xe9 || opcode == 0xeb)
        return FLOW_JUMP;
    if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3))
        return FLOW_BRANCH;
    if (opcode == 0xff)
        return decode_group_ff(second);
    return FLOW_NEXT;
}

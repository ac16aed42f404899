/* decode.c: see decode.h. */
#include "engines/x86_64/decode.h"
#include "engines/x86_64/decode_tables.h"

/* A view of the bytes that never reads past what may be read. */
struct cursor {
    const uint8_t *bytes;
    unsigned at, available;
};

static bool cursor_has(const struct cursor *cursor, unsigned count)
{
    return cursor->at + count <= cursor->available;
}

static int64_t cursor_signed(struct cursor *cursor, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)cursor->bytes[cursor->at + i] << (8 * i);
    cursor->at += size;
    if (size == 8 || size == 0)
        return (int64_t)value;
    unsigned unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

unsigned instruction_reg(const struct instruction *i)
{
    return ((i->rex & 4) << 1) | (i->modrm >> 3 & 7);
}

unsigned instruction_rm(const struct instruction *i)
{
    return ((i->rex & 1) << 3) | (i->modrm & 7);
}

static bool is_prefix(struct instruction *out, uint8_t byte)
{
    switch (byte) {
    case 0x66:
        out->prefixes |= PREFIX_66;
        return true;
    case 0x67:
        out->prefixes |= PREFIX_67;
        return true;
    case 0xf0:
        out->prefixes |= PREFIX_LOCK;
        return true;
    case 0xf2:
        out->prefixes = (out->prefixes & ~PREFIX_F3) | PREFIX_F2;
        return true;
    case 0xf3:
        out->prefixes = (out->prefixes & ~PREFIX_F2) | PREFIX_F3;
        return true;
    case 0x64:
        out->prefixes = (out->prefixes & ~PREFIX_GS) | PREFIX_FS;
        return true;
    case 0x65:
        out->prefixes = (out->prefixes & ~PREFIX_FS) | PREFIX_GS;
        return true;
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x26:
        return true; /* no meaning in 64-bit mode */
    default:
        return false;
    }
}

/* A REX byte counts only when the opcode follows it at once. */
static bool decode_prefixes(struct cursor *cursor, struct instruction *out)
{
    for (;;) {
        if (!cursor_has(cursor, 1))
            return false;
        uint8_t byte = cursor->bytes[cursor->at];
        if ((byte & 0xf0) == 0x40)
            out->rex = byte;
        else if (is_prefix(out, byte))
            out->rex = 0;
        else
            break;
        cursor->at++;
    }
    out->prefix_length = cursor->at;
    return true;
}

static bool decode_modrm(struct cursor *cursor, struct instruction *out)
{
    if (!cursor_has(cursor, 1))
        return false;
    out->modrm_offset = cursor->at;
    out->modrm = cursor->bytes[cursor->at++];
    unsigned mod = out->modrm >> 6, rm = out->modrm & 7;
    bool control_register = out->map == 1 && (out->opcode & 0xfc) == 0x20; /* has no memory form */
    if (mod == 3 || (control_register && out->encoding == ENCODING_LEGACY))
        return true;
    unsigned size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        if (!cursor_has(cursor, 1))
            return false;
        out->sib = cursor->bytes[cursor->at++];
        if (mod == 0 && (out->sib & 7) == 5)
            size = 4;
    } else if (mod == 0 && rm == 5) {
        size = 4;
        out->rip_relative = true;
    }
    if (!cursor_has(cursor, size))
        return false;
    out->displacement_offset = size ? cursor->at : 0;
    out->displacement_size = size;
    out->displacement = cursor_signed(cursor, size);
    return true;
}

static unsigned immediate_size(const struct instruction *out, uint8_t bits)
{
    bool wide = out->rex & 8;
    unsigned z = (out->prefixes & PREFIX_66) && !wide ? 2 : 4;
    unsigned size = 0;
    if (bits & OPCODE_IMM8)
        size += 1;
    if (bits & OPCODE_IMM16)
        size += 2;
    if (bits & OPCODE_IMMZ)
        size += z;
    if (bits & OPCODE_IMMV)
        size += wide ? 8 : z;
    if (bits & OPCODE_MOFFS)
        size += out->prefixes & PREFIX_67 ? 4 : 8;
    if (bits & OPCODE_REL32)
        size += 4;
    return size;
}

static bool decode_immediate(struct cursor *cursor, struct instruction *out, unsigned size)
{
    if (!cursor_has(cursor, size))
        return false;
    out->immediate_offset = size ? cursor->at : 0;
    out->immediate_size = size;
    if (size == 3) /* enter: its operands are not looked at */
        cursor->at += 3;
    else
        out->immediate = cursor_signed(cursor, size);
    return true;
}

static void refuse(struct instruction *out, const char *why)
{
    out->class = CLASS_REFUSED;
    out->refusal = why;
}

/* C0, C1, D0-D3. A count of zero leaves every flag; A and O are not defined in general. */
static void settle_shift(struct instruction *out)
{
    unsigned kind = out->modrm >> 3 & 7;
    if (kind == 2 || kind == 3)
        out->flags_read = FLAG_CARRY;
    const uint8_t results = FLAG_CARRY | FLAG_PARITY | FLAG_ZERO | FLAG_SIGN;
    if (kind < 4)
        return;
    if (out->opcode == 0xd0 || out->opcode == 0xd1)
        out->flags_killed = results;
    else if (out->immediate_size && (out->immediate & (out->rex & 8 ? 63 : 31)))
        out->flags_killed = results;
}

static void settle_group3(struct instruction *out)
{
    switch (out->modrm >> 3 & 7) {
    case 0:
    case 1:
    case 3:
        out->flags_killed = FLAGS_ALL;
        break;
    case 4:
    case 5:
        out->flags_killed = FLAG_CARRY | FLAG_OVERFLOW;
        break;
    }
}

static void settle_group5(struct instruction *out)
{
    switch (out->modrm >> 3 & 7) {
    case 0:
    case 1:
        out->flags_killed = FLAGS_ALL & ~FLAG_CARRY;
        break;
    case 2:
        out->class = CLASS_CALL_INDIRECT;
        break;
    case 4:
        out->class = CLASS_JUMP_INDIRECT;
        break;
    case 3:
    case 5:
        refuse(out, "a far call or jump");
        break;
    }
}

static void settle_one_byte(struct instruction *out)
{
    uint8_t opcode = out->opcode;
    unsigned reg = out->modrm >> 3 & 7;
    switch (opcode) {
    case 0x70 ... 0x7f:
        out->class = CLASS_JUMP_IF;
        break;
    case 0x80:
    case 0x81:
    case 0x83:
        if (reg == 2 || reg == 3)
            out->flags_read = FLAG_CARRY;
        break;
    case 0x8e:
        if (reg == 5)
            refuse(out, "a load of the gs register");
        break;
    case 0xa6:
    case 0xa7:
    case 0xae:
    case 0xaf:
        if (out->prefixes & (PREFIX_F2 | PREFIX_F3))
            out->flags_killed = 0;
        break;
    case 0xc0:
    case 0xc1:
    case 0xd0 ... 0xd3:
        settle_shift(out);
        break;
    case 0xc2:
    case 0xc3:
        out->class = CLASS_RETURN;
        break;
    case 0xc7:
        if (out->modrm == 0xf8)
            out->class = CLASS_TRANSACTION;
        break;
    case 0xca:
    case 0xcb:
    case 0xcf:
        refuse(out, "a far return");
        break;
    case 0xcd:
        if (out->immediate == (int8_t)0x80)
            refuse(out, "int 0x80, a 32-bit system call");
        break;
    case 0xda:
    case 0xdb:
        if (out->modrm < 0xc0 || reg > 3)
            out->flags_read = 0;
        break;
    case 0xe0 ... 0xe3:
        out->class = CLASS_LOOP;
        break;
    case 0xe8:
        out->class = CLASS_CALL;
        break;
    case 0xe9:
    case 0xeb:
        out->class = CLASS_JUMP;
        break;
    case 0xf6:
    case 0xf7:
        settle_group3(out);
        break;
    case 0xfe:
        if (reg < 2)
            out->flags_killed = FLAGS_ALL & ~FLAG_CARRY;
        break;
    case 0xff:
        settle_group5(out);
        break;
    }
}

static void settle_0f(struct instruction *out)
{
    unsigned reg = out->modrm >> 3 & 7;
    switch (out->opcode) {
    case 0x05:
        out->class = CLASS_SYSCALL;
        break;
    case 0x34:
        refuse(out, "sysenter, a 32-bit system call");
        break;
    case 0x80 ... 0x8f:
        out->class = CLASS_JUMP_IF;
        break;
    case 0xa9:
        refuse(out, "a load of the gs register");
        break;
    case 0xb5:
        refuse(out, "a load of the gs register");
        break;
    case 0xae:
        if ((out->prefixes & PREFIX_F3) && out->modrm >= 0xc0 && (reg == 1 || reg == 3))
            refuse(out, "rdgsbase or wrgsbase");
        break;
    case 0xb8:
        if (out->prefixes & PREFIX_F3)
            out->flags_killed = FLAGS_ALL;
        break;
    case 0xc7:
        if (reg == 1 && out->modrm < 0xc0)
            out->flags_killed = FLAG_ZERO;
        break;
    }
}

static bool decode_legacy(struct cursor *cursor, struct instruction *out)
{
    const struct opcode_row *row;
    uint8_t bits;
    out->opcode_offset = cursor->at;
    out->opcode = cursor->bytes[cursor->at++];
    if (out->opcode != 0x0f) {
        row = &opcode_one_byte[out->opcode];
        bits = row->bits;
    } else {
        if (!cursor_has(cursor, 1))
            return false;
        out->map = 1;
        out->opcode_offset = cursor->at;
        out->opcode = cursor->bytes[cursor->at++];
        row = &opcode_0f[out->opcode];
        bits = row->bits;
        if (out->opcode == 0x38 || out->opcode == 0x3a) {
            static const struct opcode_row escaped = {OPCODE_VALID | OPCODE_MODRM, 0, 0};
            if (!cursor_has(cursor, 1))
                return false;
            out->map = out->opcode == 0x38 ? 2 : 3;
            out->opcode_offset = cursor->at;
            out->opcode = cursor->bytes[cursor->at++];
            row = &escaped;
            bits = row->bits | (out->map == 3 ? OPCODE_IMM8 : 0);
        } else if (out->opcode == 0x78 && (out->prefixes & (PREFIX_66 | PREFIX_F2))) {
            bits |= OPCODE_IMM16; /* extrq, insertq: two byte-sized immediates */
        }
    }
    if (!(bits & OPCODE_VALID))
        return false;
    out->flags_read = row->flags_read;
    out->flags_killed = row->flags_killed;
    if ((bits & OPCODE_MODRM) && !decode_modrm(cursor, out))
        return false;
    unsigned size = immediate_size(out, bits);
    if (out->map == 0 && (out->opcode & 0xfe) == 0xf6 && (out->modrm >> 3 & 7) < 2)
        size = out->opcode == 0xf6 ? 1 : immediate_size(out, OPCODE_IMMZ);
    if (!decode_immediate(cursor, out, size))
        return false;
    if (out->map == 0)
        settle_one_byte(out);
    else if (out->map == 1)
        settle_0f(out);
    else if (out->map == 2 && out->opcode == 0xf6) /* adcx, adox */
        out->flags_read = FLAG_CARRY | FLAG_OVERFLOW;
    else if (out->map == 2 && out->opcode == 0x17)
        out->flags_killed = FLAGS_ALL;
    return true;
}

/* VEX, EVEX and XOP: three payload layouts, one way on: the map says what follows the opcode. */
static bool decode_vector(struct cursor *cursor, struct instruction *out)
{
    const uint8_t *bytes = cursor->bytes + cursor->at;
    unsigned size = bytes[0] == 0xc5 ? 2 : bytes[0] == 0x62 ? 4 : 3;
    if (!cursor_has(cursor, size + 1))
        return false;
    uint8_t extension = bytes[1], rest = size == 2 ? bytes[1] : bytes[2];
    switch (bytes[0]) {
    case 0xc5:
        out->encoding = ENCODING_VEX2;
        out->map = 1;
        extension |= 0x60;
        break;
    case 0x62:
        out->encoding = ENCODING_EVEX;
        out->map = bytes[1] & 7;
        break;
    default:
        out->encoding = bytes[0] == 0xc4 ? ENCODING_VEX3 : ENCODING_XOP;
        out->map = bytes[1] & 31;
    }
    out->rex = (uint8_t)~extension >> 5 & 7; /* R, X, B as in a REX byte */
    out->vector_register = ~rest >> 3 & 15;
    cursor->at += size;
    out->opcode_offset = cursor->at;
    out->opcode = cursor->bytes[cursor->at++];

    unsigned immediate = 0;
    bool modrm = true;
    switch (out->map) {
    case 1:
        modrm = out->opcode != 0x77 || out->encoding == ENCODING_EVEX;
        immediate = opcode_0f[out->opcode].bits & OPCODE_IMM8 ? 1 : 0;
        if ((out->opcode | 1) == 0x2f)
            out->flags_killed = FLAGS_ALL;
        break;
    case 2:
    case 5:
    case 6:
    case 9:
        break;
    case 3:
    case 8:
        immediate = 1;
        break;
    case 10:
        immediate = 4;
        break;
    default:
        return false;
    }
    if (modrm && !decode_modrm(cursor, out))
        return false;
    return decode_immediate(cursor, out, immediate);
}

static bool starts_vector(const struct cursor *cursor)
{
    uint8_t byte = cursor->bytes[cursor->at];
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
        return true;
    return byte == 0x8f && cursor_has(cursor, 2) && (cursor->bytes[cursor->at + 1] & 31) >= 8;
}

/* AMD gives 66 on a near branch without REX.W a 16-bit meaning, Intel ignores it. */
static bool has_small_branch(const struct instruction *out)
{
    if (!(out->prefixes & PREFIX_66) || (out->rex & 8))
        return false;
    switch (out->class) {
    case CLASS_ORDINARY:
    case CLASS_SYSCALL:
    case CLASS_REFUSED:
        return false;
    default:
        return true;
    }
}

bool instruction_decode(const uint8_t *bytes, unsigned available, struct instruction *out)
{
    *out = (struct instruction){0};
    if (available > INSTRUCTION_LENGTH_MAX)
        available = INSTRUCTION_LENGTH_MAX;
    struct cursor cursor = {bytes, 0, available};
    bool decoded =
        decode_prefixes(&cursor, out) &&
        (starts_vector(&cursor) ? decode_vector(&cursor, out) : decode_legacy(&cursor, out));
    if (!decoded)
        return false;
    out->length = cursor.at;
    if (has_small_branch(out))
        refuse(out, "a branch with a 16-bit operand size");
    return true;
}

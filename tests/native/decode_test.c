/*
 * decode_test: our decoder against Zydis, over the text of ELF files and over random bytes.
 *
 *   decode_test FILE...            every instruction of the executable sections, linear sweep
 *   decode_test --random N SEED    N random byte strings, biased towards prefixes and escapes
 *
 * What Zydis decodes we must decode with the same length, operand places and branch class; we
 * must read at least the flags it says are tested, and may kill only flags it says are written.
 */
#include "engines/x86_64/decode.h"
#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned long checked, failures, refused;

static unsigned to_ours(ZyanU32 flags)
{
    unsigned ours = 0;
    ours |= flags & ZYDIS_CPUFLAG_CF ? FLAG_CARRY : 0;
    ours |= flags & ZYDIS_CPUFLAG_PF ? FLAG_PARITY : 0;
    ours |= flags & ZYDIS_CPUFLAG_AF ? FLAG_ADJUST : 0;
    ours |= flags & ZYDIS_CPUFLAG_ZF ? FLAG_ZERO : 0;
    ours |= flags & ZYDIS_CPUFLAG_SF ? FLAG_SIGN : 0;
    ours |= flags & ZYDIS_CPUFLAG_OF ? FLAG_OVERFLOW : 0;
    return ours;
}

static void complain(const uint8_t *bytes, unsigned length, const char *what, unsigned ours,
                     unsigned theirs)
{
    if (++failures > 50)
        return;
    printf("%s: ours %x, zydis %x:", what, ours, theirs);
    for (unsigned i = 0; i < length; i++)
        printf(" %02x", bytes[i]);
    printf("\n");
}

static int class_of(const ZydisDecodedInstruction *z)
{
    bool relative = z->raw.imm[0].is_relative;
    bool far = z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return far ? CLASS_REFUSED : relative ? CLASS_CALL : CLASS_CALL_INDIRECT;
    case ZYDIS_CATEGORY_RET:
        return z->mnemonic == ZYDIS_MNEMONIC_RET && !far ? CLASS_RETURN : CLASS_REFUSED;
    case ZYDIS_CATEGORY_UNCOND_BR:
        if (z->mnemonic == ZYDIS_MNEMONIC_XABORT)
            return CLASS_ORDINARY;
        return far ? CLASS_REFUSED : relative ? CLASS_JUMP : CLASS_JUMP_INDIRECT;
    case ZYDIS_CATEGORY_COND_BR:
        switch (z->mnemonic) {
        case ZYDIS_MNEMONIC_XBEGIN:
            return CLASS_TRANSACTION;
        case ZYDIS_MNEMONIC_XEND:
            return CLASS_ORDINARY;
        case ZYDIS_MNEMONIC_LOOP:
        case ZYDIS_MNEMONIC_LOOPE:
        case ZYDIS_MNEMONIC_LOOPNE:
        case ZYDIS_MNEMONIC_JRCXZ:
        case ZYDIS_MNEMONIC_JECXZ:
            return CLASS_LOOP;
        default:
            return CLASS_JUMP_IF;
        }
    case ZYDIS_CATEGORY_SYSCALL:
        return z->mnemonic == ZYDIS_MNEMONIC_SYSCALL ? CLASS_SYSCALL : CLASS_REFUSED;
    default:
        return CLASS_ORDINARY;
    }
}

static bool writes_only_sometimes(const ZydisDecodedInstruction *z)
{
    return z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static void check_flags(const uint8_t *bytes, const struct instruction *ours,
                        const ZydisDecodedInstruction *z)
{
    if (!z->cpu_flags)
        return;
    unsigned tested = to_ours(z->cpu_flags->tested);
    if (writes_only_sometimes(z))
        tested = 0; /* repe tests Z of its own making */
    unsigned written = to_ours(z->cpu_flags->modified | z->cpu_flags->set_0 | z->cpu_flags->set_1 |
                               z->cpu_flags->undefined);
    unsigned undefined = to_ours(z->cpu_flags->undefined) & ~FLAG_ADJUST;
    if (tested & ~ours->flags_read)
        complain(bytes, z->length, "flags read", ours->flags_read, tested);
    if (ours->flags_killed & ~(written & ~undefined))
        complain(bytes, z->length, "flags killed", ours->flags_killed, written & ~undefined);
}

/* Returns how far to go on. */
static unsigned check(ZydisDecoder *decoder, const uint8_t *bytes, size_t available, bool trusted)
{
    ZydisDecodedInstruction z;
    struct instruction ours;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, available, &z))) {
        refused++;
        return 1;
    }
    bool knights = z.mnemonic == ZYDIS_MNEMONIC_JKZD || z.mnemonic == ZYDIS_MNEMONIC_JKNZD;
    if (knights || (z.attributes & ZYDIS_ATTRIB_HAS_MVEX))
        return z.length; /* a coprocessor's own encodings, no x86-64 processor has them */
    checked++;
    bool decoded = instruction_decode(bytes, available, &ours);
    if (!decoded || ours.length != z.length) {
        if (decoded || trusted || z.meta.isa_set != ZYDIS_ISA_SET_INVALID)
            complain(bytes, z.length, "length", decoded ? ours.length : 0, z.length);
        return z.length;
    }
    int class = class_of(&z);
    bool gs = ours.class == CLASS_REFUSED; /* refusals are ours to make */
    if (ours.class != class && !gs)
        complain(bytes, z.length, "class", ours.class, class);
    if ((z.attributes & ZYDIS_ATTRIB_HAS_MODRM) && !z.raw.disp.size != !ours.displacement_size)
        complain(bytes, z.length, "displacement size", ours.displacement_size, z.raw.disp.size);
    else if (z.raw.disp.size && ours.modrm_offset && z.raw.disp.offset != ours.displacement_offset)
        complain(bytes, z.length, "displacement", ours.displacement_offset, z.raw.disp.offset);
    bool rip =
        (z.attributes & ZYDIS_ATTRIB_HAS_MODRM) && z.raw.modrm.mod == 0 && z.raw.modrm.rm == 5;
    if (rip != ours.rip_relative && z.raw.disp.size)
        complain(bytes, z.length, "rip-relative", ours.rip_relative, rip);
    if (z.raw.imm[0].is_relative && ours.class != CLASS_REFUSED &&
        ours.immediate != z.raw.imm[0].value.s)
        complain(bytes, z.length, "distance", ours.immediate, z.raw.imm[0].value.s);
    check_flags(bytes, &ours, &z);
    return z.length;
}

static int check_file(ZydisDecoder *decoder, const char *path)
{
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) {
        perror(path);
        return 1;
    }
    uint8_t *image = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    Elf64_Ehdr *header = (Elf64_Ehdr *)image;
    Elf64_Shdr *sections = (Elf64_Shdr *)(image + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (!(sections[i].sh_flags & SHF_EXECINSTR) || sections[i].sh_type != SHT_PROGBITS)
            continue;
        const uint8_t *text = image + sections[i].sh_offset;
        for (size_t at = 0; at < sections[i].sh_size;)
            at += check(decoder, text + at, sections[i].sh_size - at, true);
    }
    munmap(image, status.st_size);
    close(file);
    return 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void check_random(ZydisDecoder *decoder, unsigned long count, uint64_t seed)
{
    static const uint8_t starts[] = {0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x64, 0x65,
                                     0x2e, 0x41, 0x48, 0x4f, 0x0f, 0x0f, 0x0f,
                                     0xc4, 0xc5, 0x62, 0x62, 0x8f, 0x38, 0x3a};
    uint64_t state = seed * 2654435761u + 88172645463325252ull;
    for (unsigned long n = 0; n < count; n++) {
        uint8_t bytes[24];
        for (unsigned i = 0; i < sizeof bytes; i += 8) {
            uint64_t word = next_random(&state);
            memcpy(bytes + i, &word, 8);
        }
        unsigned leading = next_random(&state) % 4;
        for (unsigned i = 0; i < leading; i++)
            bytes[i] = starts[next_random(&state) % sizeof starts];
        check(decoder, bytes, 15, false);
    }
}

int main(int argc, char **argv)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_CET, ZYAN_FALSE);
    int status = 0;
    if (argc == 4 && !strcmp(argv[1], "--random"))
        check_random(&decoder, strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    else
        for (int i = 1; i < argc; i++)
            status |= check_file(&decoder, argv[i]);
    printf("%lu instructions compared, %lu not for zydis, %lu differ\n", checked, refused,
           failures);
    return status || failures || !checked;
}

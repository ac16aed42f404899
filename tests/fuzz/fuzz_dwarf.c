/*
 * fuzz_dwarf.c: an ELF file with anything in it, as a module of a profile.
 *
 * Flipping bytes anywhere mostly breaks the ELF header, which fuzz_elf.c is for. So the mutator
 * works inside one section of debug info or symbols at a time, and only now and then on the whole
 * file. Whatever comes out, the profile must keep its invariants.
 */
#include "common/memory.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ADDRESS_COUNT 512

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static void add_site(struct profile *profile, uint64_t address)
{
    *array_push(profile->sites, profile->site_count, profile->site_capacity) =
        (struct site){.address = address, .location = NONE, .next = NONE};
}

/* Addresses all over the code, as far as the file says where that is. */
static void add_sites(struct profile *profile, const char *path)
{
    struct elf_file file;
    struct error error;

    if (elf_file_open(&file, path, &error) != OK)
        return;
    for (size_t i = 0; i < file.code_count && i < 16; i++) {
        uint64_t size_bytes = file.code[i].end - file.code[i].start;
        uint64_t step = size_bytes / ADDRESS_COUNT + 1;
        for (uint64_t n = 0; n < ADDRESS_COUNT && n * step < size_bytes; n++)
            add_site(profile, file.code[i].start + n * step);
    }
    elf_file_close(&file);
}

static void add_block(struct profile *profile, uint64_t address)
{
    *array_push(profile->blocks, profile->block_count, profile->block_capacity) =
        (struct block){.address = address,
                       .instructions = 1,
                       .first_length = (uint32_t)profile->instruction_length_count};
    *array_push(profile->instruction_lengths, profile->instruction_length_count,
                profile->instruction_length_capacity) = 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct error error;
    int descriptor = memfd_create("module", MFD_CLOEXEC);

    if (write(descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    struct profile *profile = profile_new();
    *array_push(profile->modules, profile->module_count, profile->module_capacity) =
        (struct module){.path = profile_intern(profile, path)};
    add_sites(profile, path);
    for (size_t i = 0; i < profile->site_count; i += 7) {
        uint64_t address = profile->sites[i].address;
        add_block(profile, address);
        *array_push(profile->functions, profile->function_count, profile->function_capacity) =
            (struct function){.start = address};
    }
    profile_symbolize(profile, &(struct symbols_options){.package_database = "/nowhere"});
    if (profile_check(profile, "profile", &error) != OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    profile_free(profile);
    close(descriptor);
    return 0;
}

static size_t next_random(uint32_t *state, size_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return limit ? (*state >> 8) % limit : 0;
}

static bool is_interesting(const Elf64_Shdr *section, size_t size)
{
    return (section->sh_type == SHT_PROGBITS || section->sh_type == SHT_SYMTAB ||
            section->sh_type == SHT_STRTAB || section->sh_type == SHT_NOTE) &&
           !(section->sh_flags & SHF_ALLOC) && section->sh_size > 0 && section->sh_offset < size &&
           section->sh_size <= size - section->sh_offset;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    uint32_t state = seed;

    if (size < sizeof header || next_random(&state, 16) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    memcpy(&header, data, sizeof header);
    for (int tries = 0; tries < 16 && header.e_shnum; tries++) {
        uint64_t at = header.e_shoff + next_random(&state, header.e_shnum) * sizeof section;
        if (at > size || sizeof section > size - at)
            continue;
        memcpy(&section, data + at, sizeof section);
        if (!is_interesting(&section, size))
            continue;
        /* The section keeps its place, so what the mutator made shorter is filled up. */
        uint8_t *bytes = malloc(section.sh_size);
        memcpy(bytes, data + section.sh_offset, section.sh_size);
        size_t length = LLVMFuzzerMutate(bytes, section.sh_size, section.sh_size);
        memcpy(data + section.sh_offset, bytes, length);
        free(bytes);
        return size;
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

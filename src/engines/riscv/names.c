#include "engines/riscv/names.h"

#include <string.h>

static const void *bytes_at(const struct riscv_image *image, uint64_t offset, uint64_t size_bytes)
{
    if (offset > image->size_bytes || size_bytes > image->size_bytes - offset)
        return NULL;
    return image->bytes + offset;
}

/* The nearest function symbol at or below the address, whose extent has it if it has one. */
static const char *search(const Elf64_Sym *symbols, size_t count, const char *names,
                          size_t names_bytes, uint64_t address)
{
    const Elf64_Sym *best = NULL;

    for (size_t i = 0; i < count; i++) {
        unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
        if (symbols[i].st_value > address || symbols[i].st_name >= names_bytes ||
            symbols[i].st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_NOTYPE) ||
            (symbols[i].st_size && address - symbols[i].st_value >= symbols[i].st_size) ||
            names[symbols[i].st_name] == '$' || !names[symbols[i].st_name])
            continue;
        if (!best || symbols[i].st_value > best->st_value ||
            (symbols[i].st_value == best->st_value && type == STT_FUNC))
            best = &symbols[i];
    }
    return best ? names + best->st_name : "";
}

const char *names_find(const struct riscv_image *image, uint64_t address)
{
    const Elf64_Ehdr *header = image->header;
    const Elf64_Shdr *sections =
        bytes_at(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);

    if (!sections || header->e_shentsize != sizeof *sections || header->e_shoff % 8)
        return "";
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum ||
            table->sh_offset % 8)
            continue;
        const Elf64_Shdr *strings = &sections[table->sh_link];
        const Elf64_Sym *symbols = bytes_at(image, table->sh_offset, table->sh_size);
        const char *names = bytes_at(image, strings->sh_offset, strings->sh_size);
        if (symbols && names && strings->sh_size && !names[strings->sh_size - 1])
            return search(symbols, table->sh_size / sizeof *symbols, names, strings->sh_size,
                          address - image->bias);
    }
    return "";
}

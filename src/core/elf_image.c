/* elf_image.c: see elf_image.h. */
#include "core/elf_image.h"

const void *image_at(const struct image *image, uint64_t offset, uint64_t size_bytes)
{
    if (offset > image->size_bytes || size_bytes > image->size_bytes - offset)
        return NULL;
    return image->bytes + offset;
}

const void *image_words(const struct image *image, uint64_t offset, uint64_t size_bytes)
{
    return offset % 4 ? NULL : image_at(image, offset, size_bytes);
}

const void *image_table(const struct image *image, uint64_t offset, uint64_t count,
                        uint64_t entry_bytes)
{
    uint64_t size_bytes;

    if (offset % 8 || __builtin_mul_overflow(count, entry_bytes, &size_bytes))
        return NULL;
    return image_at(image, offset, size_bytes);
}

bool image_open(struct image *image, const uint8_t *bytes, size_t size_bytes)
{
    *image = (struct image){.bytes = bytes, .size_bytes = size_bytes};
    const Elf64_Ehdr *header = image_at(image, 0, sizeof *header);

    if (!header || header->e_ident[0] != 0x7f || header->e_ident[1] != 'E' ||
        header->e_ident[2] != 'L' || header->e_ident[3] != 'F' ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    image->header = header;
    if (header->e_phentsize == sizeof(Elf64_Phdr))
        image->segments = image_table(image, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr));
    image->segment_count = image->segments ? header->e_phnum : 0;
    if (header->e_shentsize == sizeof(Elf64_Shdr))
        image->sections = image_table(image, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr));
    image->section_count = image->sections ? header->e_shnum : 0;
    if (header->e_shstrndx < image->section_count) {
        const Elf64_Shdr *names = &image->sections[header->e_shstrndx];
        image->section_names = image_at(image, names->sh_offset, names->sh_size);
        image->section_names_bytes = image->section_names ? names->sh_size : 0;
        if (image->section_names_bytes && image->section_names[names->sh_size - 1])
            image->section_names_bytes = 0;
    }
    return true;
}

const char *image_section_name(const struct image *image, const Elf64_Shdr *section)
{
    return section->sh_name < image->section_names_bytes ? image->section_names + section->sh_name
                                                         : "";
}

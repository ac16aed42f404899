/*
 * elf_image.h: an ELF file in memory, of which nothing is believed: every offset is checked.
 */
#ifndef TRUEFLAME_CORE_ELF_IMAGE_H
#define TRUEFLAME_CORE_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    const uint8_t *bytes;
    size_t size_bytes;
    const Elf64_Ehdr *header;
    const Elf64_Phdr *segments;
    size_t segment_count;
    const Elf64_Shdr *sections;
    size_t section_count;
    const char *section_names;
    size_t section_names_bytes;
};

/* False: it is no ELF file of 64 bits, little-endian. Tables that do not lie in it count as absent. */
bool image_open(struct image *image, const uint8_t *bytes, size_t size_bytes);

/* So many bytes of the file; NULL where it does not have them. */
const void *image_at(const struct image *image, uint64_t offset, uint64_t size_bytes);

/* Words of 32 bits, which lie where a processor likes them in any file that a linker made. */
const void *image_words(const struct image *image, uint64_t offset, uint64_t size_bytes);

/* A table of such entries, of words of 64 bits. */
const void *image_table(const struct image *image, uint64_t offset, uint64_t count,
                        uint64_t entry_bytes);

const char *image_section_name(const struct image *image, const Elf64_Shdr *section);

#endif

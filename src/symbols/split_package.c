/*
 * split_package.c: takes single .dwo files out of a .dwp file, which libdw (before 0.191) cannot read.
 *
 * A package has each section of its .dwo files one after the other, and an index that says for each
 * unit, found by hashing its number, which piece of which section is its own:
 *
 *      version | columns | units | slots                  of 32 bits each (version 5: 16, 16 unused)
 *      slots x unit number (64 bits)                      0: the slot is empty
 *      slots x row (32 bits)                              from 1
 *      columns x section number (32 bits)
 *      units x columns x where the piece starts           (32 bits)
 *      units x columns x how long it is                   (32 bits)
 *
 * Strings are shared by all units. A unit's table of offsets names all that it uses, so only those go
 * into its file: packages are large, and units are many.
 *
 * Cost: what the unit has, once. Every number in the index is checked before it is used.
 */
#include "symbols/split_package.h"
#include "common/memory.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STRINGS = 0, STRING_OFFSETS = 6 }; /* number 0 is no section of the index */

static const char *const names_4[SPLIT_SECTION_COUNT] = {
    [STRINGS] = ".debug_str.dwo", [1] = ".debug_info.dwo",        [3] = ".debug_abbrev.dwo",
    [4] = ".debug_line.dwo",      [6] = ".debug_str_offsets.dwo",
};
static const char *const names_5[SPLIT_SECTION_COUNT] = {
    [STRINGS] = ".debug_str.dwo", [1] = ".debug_info.dwo",        [3] = ".debug_abbrev.dwo",
    [4] = ".debug_line.dwo",      [6] = ".debug_str_offsets.dwo", [8] = ".debug_rnglists.dwo",
};

struct piece {
    const uint8_t *bytes; /* NULL: none */
    size_t size_bytes;
};

static uint32_t read_32(const uint8_t *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t read_64(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

static const char *const *section_names(const struct split_package *package)
{
    return package->version == 5 ? names_5 : names_4;
}

static void decompress_sections(Elf *elf)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_flags & SHF_COMPRESSED)
            elf_compress(section, 0, 0);
    }
}

bool split_package_open(struct split_package *package, const struct elf_file *file)
{
    *package = (struct split_package){.file = file};
    if (gelf_getclass(file->elf) != ELFCLASS64 || elf_file_is_bomb(file))
        return false;
    decompress_sections(file->elf);
    Elf_Data *index = elf_file_section(file->elf, ".debug_cu_index");
    if (!index || index->d_size < 16)
        return false;
    const uint8_t *header = index->d_buf;
    package->version = read_32(header) & 0xffff;
    package->column_count = read_32(header + 4);
    package->unit_count = read_32(header + 8);
    package->slot_count = read_32(header + 12);
    package->index = header + 16;
    if ((package->version != 2 && package->version != 5) || package->column_count > 16 ||
        package->slot_count == 0 || (package->slot_count & (package->slot_count - 1)))
        return false;
    uint64_t needed = (uint64_t)package->slot_count * 12 +
                      (uint64_t)package->column_count * 4 * (2 * (uint64_t)package->unit_count + 1);
    if (needed > index->d_size - 16)
        return false;
    for (int i = 0; i < SPLIT_SECTION_COUNT; i++)
        if (section_names(package)[i])
            package->sections[i] = elf_file_section(file->elf, section_names(package)[i]);
    return true;
}

/* The unit's row, from 1; 0 when it is not there. */
static uint32_t find_row(const struct split_package *package, uint64_t unit_id)
{
    const uint8_t *rows = package->index + (size_t)package->slot_count * 8;
    uint32_t mask = package->slot_count - 1;
    uint32_t slot = (uint32_t)unit_id & mask, step = ((uint32_t)(unit_id >> 32) & mask) | 1;

    for (uint32_t i = 0; i < package->slot_count; i++, slot = (slot + step) & mask) {
        uint32_t row = read_32(rows + (size_t)slot * 4);
        if (row == 0)
            return 0;
        if (read_64(package->index + (size_t)slot * 8) == unit_id)
            return row <= package->unit_count ? row : 0;
    }
    return 0;
}

/* Which pieces a row has. False when one is not in its section. */
static bool find_pieces(const struct split_package *package, uint32_t row,
                        struct piece pieces[SPLIT_SECTION_COUNT])
{
    const uint8_t *columns = package->index + (size_t)package->slot_count * 12;
    size_t row_bytes = (size_t)package->column_count * 4;
    const uint8_t *offsets = columns + row * row_bytes;
    const uint8_t *sizes = offsets + package->unit_count * row_bytes;

    for (uint32_t i = 0; i < package->column_count; i++) {
        uint32_t number = read_32(columns + i * 4);
        uint32_t offset = read_32(offsets + i * 4), size_bytes = read_32(sizes + i * 4);
        Elf_Data *section =
            number && number < SPLIT_SECTION_COUNT ? package->sections[number] : NULL;
        if (!section || size_bytes == 0)
            continue;
        if (offset > section->d_size || size_bytes > section->d_size - offset)
            return false;
        pieces[number] = (struct piece){(const uint8_t *)section->d_buf + offset, size_bytes};
    }
    return true;
}

/* The unit's strings alone, and the table of where they are now. What the pieces then point to is
 * theirs to free. False when the package is damaged, or of 64-bit DWARF, which nobody packages. */
static bool take_strings(const struct split_package *package,
                         struct piece pieces[SPLIT_SECTION_COUNT])
{
    Elf_Data *all = package->sections[STRINGS];
    struct piece *offsets = &pieces[STRING_OFFSETS];
    size_t header_bytes = package->version == 5 ? 8 : 0;
    size_t used = 0, capacity = 0;

    if (!all || !offsets->bytes || offsets->size_bytes < header_bytes ||
        (header_bytes && read_32(offsets->bytes) == UINT32_MAX))
        return false;
    uint8_t *table = memory_allocate(offsets->size_bytes);
    memcpy(table, offsets->bytes, offsets->size_bytes);
    char *strings = NULL;
    for (size_t at = header_bytes; at + 4 <= offsets->size_bytes; at += 4) {
        uint32_t offset = read_32(table + at);
        size_t left = offset < all->d_size ? all->d_size - offset : 0;
        const char *text = (const char *)all->d_buf + offset;
        size_t length = left ? strnlen(text, left) : 0;
        /* No string is in the section twice, so that those of a unit are not longer than it. */
        if (length == left || used + length > 2 * all->d_size + 1)
            break;
        strings = memory_grow(strings, &capacity, used + length + 1, 1);
        memcpy(strings + used, text, length + 1);
        memcpy(table + at, &(uint32_t){(uint32_t)used}, 4);
        used += length + 1;
    }
    *offsets = (struct piece){table, offsets->size_bytes};
    pieces[STRINGS] = (struct piece){(const uint8_t *)strings, used};
    return true;
}

/* header | pieces | names | section headers, of which the first means none. */
static int write_file(const struct split_package *package,
                      const struct piece pieces[SPLIT_SECTION_COUNT])
{
    Elf64_Shdr headers[SPLIT_SECTION_COUNT + 2] = {0};
    Elf64_Ehdr header = *elf64_getehdr(package->file->elf);
    char names[256] = "";
    size_t at = sizeof header, names_bytes = 1;
    int descriptor = memfd_create("dwo", MFD_CLOEXEC);
    FILE *stream = descriptor < 0 ? NULL : fdopen(dup(descriptor), "wb");

    header.e_phoff = header.e_phnum = header.e_phentsize = 0;
    header.e_shentsize = sizeof *headers;
    header.e_shnum = SPLIT_SECTION_COUNT + 2;
    header.e_shstrndx = SPLIT_SECTION_COUNT + 1;
    for (int i = 0; i <= SPLIT_SECTION_COUNT; i++) {
        bool is_names = i == SPLIT_SECTION_COUNT;
        size_t size_bytes = is_names ? names_bytes : pieces[i].size_bytes;
        if (!is_names && !pieces[i].bytes)
            continue;
        headers[i + 1] = (Elf64_Shdr){.sh_name = is_names ? 0 : (Elf64_Word)names_bytes,
                                      .sh_type = is_names ? SHT_STRTAB : SHT_PROGBITS,
                                      .sh_offset = at,
                                      .sh_size = size_bytes,
                                      .sh_addralign = 1};
        at += size_bytes;
        if (!is_names)
            names_bytes += strlen(strcpy(names + names_bytes, section_names(package)[i])) + 1;
    }
    header.e_shoff = at;
    if (!stream) {
        if (descriptor >= 0)
            close(descriptor);
        return -1;
    }
    fwrite(&header, 1, sizeof header, stream);
    for (int i = 0; i < SPLIT_SECTION_COUNT; i++)
        if (pieces[i].bytes)
            fwrite(pieces[i].bytes, 1, pieces[i].size_bytes, stream);
    fwrite(names, 1, names_bytes, stream);
    fwrite(headers, 1, sizeof headers, stream);
    bool failed = ferror(stream);
    if (fclose(stream) == 0 && !failed)
        return descriptor;
    close(descriptor);
    return -1;
}

int split_package_extract(const struct split_package *package, uint64_t unit_id)
{
    struct piece pieces[SPLIT_SECTION_COUNT] = {0};
    uint32_t row = find_row(package, unit_id);

    if (row == 0 || !find_pieces(package, row, pieces) || !take_strings(package, pieces))
        return -1;
    int descriptor = write_file(package, pieces);
    free((void *)pieces[STRINGS].bytes);
    free((void *)pieces[STRING_OFFSETS].bytes);
    return descriptor;
}

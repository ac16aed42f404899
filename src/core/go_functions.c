/*
 * go_functions.c: see go_functions.h.
 *
 *     header     magic (4 bytes), 0, 0, least instruction length, pointer size; then, each as large as a
 *                pointer: functions, files, start of the code, offsets of the names, of the units, of
 *                the files, of tables of values by address, and of the functions
 *     functions  for each: where it starts, from the start of the code on, and where it is described,
 *                from here on, 4 bytes each, by address; then where the last one ends
 *     described  where it starts again, the offset of its name among the names (4 bytes each), ...
 *
 * In a file that can be loaded anywhere, the start of the code is a relocation's.
 */
#include "core/go_functions.h"
#include "core/text.h"

#define MAGIC_1_18   0xfffffff0u
#define MAGIC_1_20   0xfffffff1u
#define POINTER      8
#define HEADER_BYTES (8 + 8 * POINTER)
#define ENTRY_BYTES  8

enum word { COUNT, FILES, TEXT, NAMES, UNITS, FILE_NAMES, VALUES, FUNCTIONS };

static uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t load_word(const uint8_t *bytes, enum word word)
{
    uint64_t value;
    __builtin_memcpy(&value, bytes + 8 + word * POINTER, sizeof value);
    return value;
}

static bool is_table(const struct image *image, const Elf64_Shdr *section)
{
    const char *name = image_section_name(image, section);

    return section->sh_type == SHT_PROGBITS &&
           (text_equal(name, ".gopclntab") || text_equal(name, ".data.rel.ro.gopclntab"));
}

/* What the loader will write to the address; 0: nothing is known of it. */
static uint64_t relocated(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        size_t count = section->sh_size / sizeof(Elf64_Rela);
        const Elf64_Rela *rows = NULL;
        if (section->sh_type == SHT_RELA)
            rows = image_table(image, section->sh_offset, count, sizeof *rows);
        for (size_t j = 0; rows && j < count; j++)
            if (rows[j].r_offset == address)
                return rows[j].r_addend;
    }
    return 0;
}

static bool open_table(struct go_table *table, const struct image *image, const Elf64_Shdr *section)
{
    const uint8_t *bytes = image_at(image, section->sh_offset, section->sh_size);
    uint64_t size = section->sh_size;

    if (!bytes || size < HEADER_BYTES || bytes[7] != POINTER ||
        (load32(bytes) != MAGIC_1_18 && load32(bytes) != MAGIC_1_20))
        return false;
    *table = (struct go_table){
        .bytes = bytes,
        .size_bytes = size,
        .text = load_word(bytes, TEXT),
        .count = load_word(bytes, COUNT),
        .names = load_word(bytes, NAMES),
        .names_end = load_word(bytes, UNITS),
        .functions = load_word(bytes, FUNCTIONS),
    };
    if (!table->text)
        table->text = relocated(image, section->sh_addr + 8 + TEXT * POINTER);
    return table->text && table->names < table->names_end && table->names_end <= size &&
           !bytes[table->names_end - 1] && table->functions < size &&
           table->count < (size - table->functions) / ENTRY_BYTES;
}

bool go_table_find(struct go_table *table, const struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (is_table(image, &image->sections[i]))
            return open_table(table, image, &image->sections[i]);
    return false;
}

bool go_table_read(const struct go_table *table, uint64_t number, struct go_function *function)
{
    const uint8_t *functions = table->bytes + table->functions;
    const uint8_t *entry = functions + number * ENTRY_BYTES;
    uint64_t described = load32(entry + 4), room = table->size_bytes - table->functions;

    if (described > room || room - described < 8)
        return false;
    uint64_t name = load32(functions + described + 4);
    if (name >= table->names_end - table->names)
        return false;
    /* Behind the last entry there are four bytes, where its end is; there is room for eight. */
    *function = (struct go_function){
        .start = table->text + load32(entry),
        .end = table->text + load32(entry + ENTRY_BYTES),
        .name = (const char *)table->bytes + table->names + name,
    };
    return function->start < function->end;
}

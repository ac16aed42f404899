/*
 * image.c: the symbols of an ELF file that was linked at fixed addresses.
 *
 * A symbol without a size reaches to the next one. Of several symbols at one address one is taken:
 * global or weak before local, then with the fewest leading underscores, then global before weak,
 * then the shortest, then the first in the alphabet. `f.cold` is part of `f`.
 */
#include "oracle.h"
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const void *at(const struct image *image, uint64_t offset, uint64_t size)
{
    if (offset > image->file_size || size > image->file_size - offset)
        die("ELF file is truncated");
    return (const char *)image->file + offset;
}

static void map_file(struct image *image, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        die("%s: cannot be opened", path);
    image->file_size = (size_t)status.st_size;
    image->file = mmap(NULL, image->file_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (image->file == MAP_FAILED)
        die("%s: cannot be mapped", path);
}

struct candidate {
    struct symbol symbol;
    int rank; /* of its binding: global 0, weak 1, local 2 */
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->symbol.start != b->symbol.start)
        return a->symbol.start < b->symbol.start ? -1 : 1;
    if ((a->rank == 2) != (b->rank == 2))
        return a->rank - b->rank;
    int underscores = (int)strspn(a->symbol.name, "_") - (int)strspn(b->symbol.name, "_");
    if (underscores)
        return underscores;
    if (a->rank != b->rank)
        return a->rank - b->rank;
    int length = (int)strlen(a->symbol.name) - (int)strlen(b->symbol.name);
    return length ? length : strcmp(a->symbol.name, b->symbol.name);
}

/* The bytes of the file that are loaded at `address`; NULL where there are fewer than `count`. */
static const uint8_t *code_at(const struct image *image, uint64_t address, size_t count)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof *header);
    const Elf64_Phdr *segment = at(image, header->e_phoff, header->e_phnum * sizeof *segment);
    for (int i = 0; i < header->e_phnum; i++, segment++)
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address + count <= segment->p_vaddr + segment->p_filesz)
            return at(image, segment->p_offset + address - segment->p_vaddr, count);
    return NULL;
}

static void find_prologue(const struct image *image, struct symbol *symbol)
{
    uint64_t address = symbol->start;
    const uint8_t *code = code_at(image, address, 4);
    if (code && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
        code = code_at(image, address += 4, 4);
    symbol->has_frame = code && memcmp(code, "\x55\x48\x89\xe5", 4) == 0;
    symbol->push_address = address;
}

static void find_function_of_cold_part(struct image *image, size_t number)
{
    struct symbol *symbol = &image->symbols[number];
    const char *cold = strstr(symbol->name, ".cold");
    symbol->function = (int)number;
    if (!cold)
        return;
    size_t length = (size_t)(cold - symbol->name);
    for (size_t i = 0; i < image->symbol_count; i++)
        if (strlen(image->symbols[i].name) == length &&
            strncmp(image->symbols[i].name, symbol->name, length) == 0)
            symbol->function = (int)i;
}

static size_t read_candidates(const struct image *image, const Elf64_Shdr *sections,
                              const Elf64_Shdr *table, struct candidate *candidates)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof *header);
    const Elf64_Sym *symbols = at(image, table->sh_offset, table->sh_size);
    const Elf64_Shdr *strings = &sections[table->sh_link];
    const char *names = at(image, strings->sh_offset, strings->sh_size);
    size_t count = 0;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Sym *entry = &symbols[i];
        int type = ELF64_ST_TYPE(entry->st_info), binding = ELF64_ST_BIND(entry->st_info);
        if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC)
            continue;
        if (entry->st_shndx == SHN_UNDEF || entry->st_shndx >= header->e_shnum ||
            !(sections[entry->st_shndx].sh_flags & SHF_EXECINSTR) || !names[entry->st_name])
            continue;
        const Elf64_Shdr *section = &sections[entry->st_shndx];
        candidates[count++] = (struct candidate){
            .symbol = {.start = entry->st_value,
                       .end = entry->st_size ? entry->st_value + entry->st_size : 0,
                       .name = names + entry->st_name},
            .rank = binding == STB_LOCAL  ? 2
                    : binding == STB_WEAK ? 1
                                          : 0,
        };
        if (entry->st_value >= section->sh_addr + section->sh_size)
            count--; /* _etext and such: an end, not a function */
    }
    return count;
}

static void read_symbols(struct image *image, const Elf64_Shdr *sections, const Elf64_Shdr *table)
{
    size_t room = table->sh_size / sizeof(Elf64_Sym);
    struct candidate *candidates = calloc(room, sizeof *candidates);
    size_t count = read_candidates(image, sections, table, candidates);
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    image->symbols = calloc(count + 1, sizeof *image->symbols);
    for (size_t i = 0; i < count; i++) {
        struct symbol *last = image->symbol_count ? &image->symbols[image->symbol_count - 1] : NULL;
        if (last && last->start == candidates[i].symbol.start) {
            if (candidates[i].symbol.end > last->end)
                last->end = candidates[i].symbol.end;
            continue;
        }
        if (last && (!last->end || last->end > candidates[i].symbol.start))
            last->end = candidates[i].symbol.start;
        image->symbols[image->symbol_count++] = candidates[i].symbol;
    }
    if (image->symbol_count && !image->symbols[image->symbol_count - 1].end)
        image->symbols[image->symbol_count - 1].end = UINT64_MAX;
    for (size_t i = 0; i < image->symbol_count; i++) {
        find_prologue(image, &image->symbols[i]);
        find_function_of_cold_part(image, i);
    }
    free(candidates);
}

struct image *image_read(const char *path)
{
    struct image *image = calloc(1, sizeof *image);
    map_file(image, path);
    const Elf64_Ehdr *header = at(image, 0, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_EXEC)
        die("%s: not an ELF program linked at fixed addresses (-static -no-pie)", path);
    const Elf64_Shdr *sections = at(image, header->e_shoff, header->e_shnum * sizeof *sections);
    const Elf64_Shdr *names = &sections[header->e_shstrndx];
    const char *text = at(image, names->sh_offset, names->sh_size);
    for (int i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type == SHT_SYMTAB)
            read_symbols(image, sections, section);
        const char *name = text + section->sh_name;
        if ((strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0) &&
            image->stub_count < 8) {
            image->stubs[image->stub_count].start = section->sh_addr;
            image->stubs[image->stub_count++].end = section->sh_addr + section->sh_size;
        }
    }
    return image;
}

int image_symbol_at(const struct image *image, uint64_t address)
{
    size_t low = 0, high = image->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= image->symbols[low - 1].end)
        return NO_SYMBOL;
    return (int)(low - 1);
}

bool image_is_stub(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->stub_count; i++)
        if (address >= image->stubs[i].start && address < image->stubs[i].end)
            return true;
    return false;
}

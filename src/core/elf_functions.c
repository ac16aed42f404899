/*
 * elf_functions.c: reads function ranges out of ELF files, without libc and without trusting the file.
 *
 * What counts as a function:
 *   - FUNC and IFUNC symbols, and NOTYPE symbols of global binding (hand-written assembly). Local
 *     NOTYPE symbols are labels inside functions far more often than functions; one that is called
 *     becomes a function then (code_map_called).
 *   - a symbol without a size reaches to the next symbol, or to the end of its section
 *   - symbols at one address are one function, as long as the longest
 *   - a symbol inside another's range cuts it: the inner one owns its bytes, the outer one goes on
 *     after it
 *   - `f.cold` belongs to `f`: of the same source file if `f` is local, else the global `f`
 *   - in what no symbol covers, each entry of .eh_frame_hdr starts a function, unless its frame
 *     begins in mid-function: then it is the cold part of an unknown one and starts nothing
 * Sections named .plt* and .iplt hold stubs, which never become frames.
 *
 * Cost: one pass over the symbol table and one sort; about 10 ms for 50,000 symbols.
 */
#include "core/elf_functions.h"
#include "core/grow.h"
#include "core/platform.h"
#include "core/sort.h"
#include "core/text.h"

#include <elf.h>

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

/* A symbol on its way to become a range. */
struct candidate {
    uint64_t start, end; /* end 0: no size, reaches to the next */
    uint64_t limit;      /* end of the section */
    const char *name;
    uint32_t source; /* number of the source file, for local symbols; 0: global */
    bool cold;
    struct code_function *function;
};

struct candidates {
    struct candidate *items;
    size_t count, capacity;
};

/* ---- the file, with every offset checked ---- */

static const void *image_at(const struct image *image, uint64_t offset, uint64_t size_bytes)
{
    if (offset > image->size_bytes || size_bytes > image->size_bytes - offset)
        return NULL;
    return image->bytes + offset;
}

/* Words of 32 bits, which lie where a processor likes them in any file that a linker made. */
static const void *image_words(const struct image *image, uint64_t offset, uint64_t size_bytes)
{
    return offset % 4 ? NULL : image_at(image, offset, size_bytes);
}

static const void *image_table(const struct image *image, uint64_t offset, uint64_t count,
                               uint64_t entry_bytes)
{
    uint64_t size_bytes;

    if (offset % 8 || __builtin_mul_overflow(count, entry_bytes, &size_bytes))
        return NULL;
    return image_at(image, offset, size_bytes);
}

static bool image_open(struct image *image, const uint8_t *bytes, size_t size_bytes)
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

static const char *section_name(const struct image *image, const Elf64_Shdr *section)
{
    return section->sh_name < image->section_names_bytes ? image->section_names + section->sh_name
                                                         : "";
}

bool elf_find_segment(const uint8_t *bytes, size_t size_bytes, uint64_t file_offset,
                      uint64_t *address_minus_offset)
{
    struct image image;

    if (!image_open(&image, bytes, size_bytes))
        return false;
    for (size_t i = 0; i < image.segment_count; i++) {
        const Elf64_Phdr *segment = &image.segments[i];
        /* Mappings begin at a page, segments need not. */
        uint64_t first = segment->p_offset & ~(uint64_t)4095;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && file_offset >= first &&
            file_offset < segment->p_offset + segment->p_filesz) {
            *address_minus_offset = segment->p_vaddr - segment->p_offset;
            return true;
        }
    }
    return false;
}

uint64_t elf_find_code(const uint8_t *bytes, size_t size_bytes,
                       uint64_t (*find)(const uint8_t *code, size_t size_bytes))
{
    struct image image;

    if (!image_open(&image, bytes, size_bytes))
        return 0;
    for (size_t i = 0; i < image.segment_count; i++) {
        const Elf64_Phdr *segment = &image.segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
            segment->p_offset > size_bytes || segment->p_filesz > size_bytes - segment->p_offset)
            continue;
        uint64_t offset = find(bytes + segment->p_offset, segment->p_filesz);
        if (offset != UINT64_MAX)
            return segment->p_vaddr + offset;
    }
    return 0;
}

static void read_build_id(struct code_module *module, const struct image *image)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type != PT_NOTE)
            continue;
        uint64_t offset = segment->p_offset;
        uint64_t end = segment->p_offset + segment->p_filesz;
        const Elf64_Nhdr *note;
        while (offset + sizeof *note <= end && (note = image_words(image, offset, sizeof *note))) {
            uint64_t name = offset + sizeof *note;
            uint64_t data = name + ((uint64_t)note->n_namesz + 3) / 4 * 4;
            const uint8_t *id = image_at(image, data, note->n_descsz);
            if (id && note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                note->n_descsz > 0 && note->n_descsz <= 32) {
                for (uint32_t j = 0; j < note->n_descsz; j++) {
                    module->build_id[2 * j] = hex[id[j] >> 4];
                    module->build_id[2 * j + 1] = hex[id[j] & 15];
                }
                module->build_id[2 * note->n_descsz] = '\0';
                return;
            }
            offset = data + ((uint64_t)note->n_descsz + 3) / 4 * 4;
        }
    }
}

/* ---- candidates ---- */

static struct candidate *candidates_add(struct candidates *list)
{
    GROW(list->items, list->count, list->capacity, 1024);
    return &list->items[list->count++];
}

static bool is_function(const struct image *image, const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    if (!symbol->st_value || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_shndx >= image->section_count ||
        !(image->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR))
        return false;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return true;
    return type == STT_NOTYPE && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
}

static bool ends_with_cold(const char *name)
{
    size_t length = text_length(name);

    return length > 5 && text_equal(name + length - 5, ".cold");
}

static void collect_symbols(struct candidates *list, const struct image *image, uint32_t type)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *table = &image->sections[i];
        if (table->sh_type != type || table->sh_link >= image->section_count)
            continue;
        const Elf64_Shdr *strings = &image->sections[table->sh_link];
        const char *names = image_at(image, strings->sh_offset, strings->sh_size);
        size_t count = table->sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *symbols = image_table(image, table->sh_offset, count, sizeof(Elf64_Sym));
        if (!symbols || !names || !strings->sh_size || names[strings->sh_size - 1])
            continue;
        uint32_t source = 0;
        for (size_t j = 0; j < count; j++) {
            const Elf64_Sym *symbol = &symbols[j];
            if (ELF64_ST_TYPE(symbol->st_info) == STT_FILE)
                source++;
            if (symbol->st_name >= strings->sh_size || !is_function(image, symbol))
                continue;
            const Elf64_Shdr *section = &image->sections[symbol->st_shndx];
            uint64_t limit = section->sh_addr + section->sh_size;
            if (symbol->st_value >= limit)
                continue;
            struct candidate *candidate = candidates_add(list);
            *candidate = (struct candidate){
                .start = symbol->st_value,
                .limit = limit,
                .name = names + symbol->st_name,
                .source = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ? source : 0,
            };
            if (symbol->st_size && symbol->st_size <= limit - symbol->st_value)
                candidate->end = symbol->st_value + symbol->st_size;
            candidate->cold = ends_with_cold(candidate->name);
        }
    }
}

bool elf_find_symbol(const uint8_t *bytes, size_t size_bytes, const char *name, uint64_t *value)
{
    struct image image;

    if (!image_open(&image, bytes, size_bytes))
        return false;
    for (size_t i = 0; i < image.section_count; i++) {
        const Elf64_Shdr *table = &image.sections[i];
        if (table->sh_type != SHT_DYNSYM || table->sh_link >= image.section_count)
            continue;
        const Elf64_Shdr *strings = &image.sections[table->sh_link];
        const char *names = image_at(&image, strings->sh_offset, strings->sh_size);
        size_t count = table->sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *symbols = image_table(&image, table->sh_offset, count, sizeof(Elf64_Sym));
        if (!symbols || !names || !strings->sh_size || names[strings->sh_size - 1])
            continue;
        for (size_t j = 0; j < count; j++)
            if (symbols[j].st_shndx != SHN_UNDEF && symbols[j].st_name < strings->sh_size &&
                text_equal(names + symbols[j].st_name, name)) {
                *value = symbols[j].st_value;
                return true;
            }
    }
    return false;
}

size_t elf_find_prefixed(const uint8_t *bytes, size_t size_bytes, const char *prefix,
                         uint64_t *starts, size_t most)
{
    struct image image;
    struct candidates list = {0};
    size_t found = 0;

    if (!image_open(&image, bytes, size_bytes))
        return 0;
    collect_symbols(&list, &image, SHT_SYMTAB);
    for (size_t i = 0; i < list.count && found < most; i++)
        if (text_starts_with(list.items[i].name, prefix))
            starts[found++] = list.items[i].start;
    platform_release(list.items, list.capacity * sizeof *list.items);
    return found;
}

size_t elf_data_stretches(const uint8_t *bytes, size_t size_bytes, struct elf_stretch *stretches,
                          size_t most)
{
    struct image image;
    size_t count = 0;

    if (!image_open(&image, bytes, size_bytes))
        return 0;
    for (size_t i = 0; i < image.segment_count && count < most; i++) {
        const Elf64_Phdr *segment = &image.segments[i];
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_X))
            stretches[count++] =
                (struct elf_stretch){segment->p_vaddr, segment->p_vaddr + segment->p_filesz};
    }
    return count;
}

/* By start; of those at one address the longest first, so that it is the one that stays. */
static bool candidate_before(const void *a, const void *b)
{
    const struct candidate *one = a, *other = b;

    if (one->start != other->start)
        return one->start < other->start;
    if (one->cold != other->cold)
        return other->cold;
    return one->end > other->end;
}

static struct code_function *function_new(struct code_module *module, uint64_t start, uint64_t end)
{
    struct code_function *function = platform_allocate(sizeof *function);

    *function =
        (struct code_function){.module = module, .start = start, .end = end, .raw_id = CODE_NO_ID};
    return function;
}

/* ---- cold parts find their function by name ---- */

struct name_table {
    struct candidate **slots;
    size_t mask;
};

static uint64_t hash_name(const char *name, size_t length)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 1099511628211u;
    return hash;
}

static void name_table_fill(struct name_table *table, const struct candidates *list)
{
    size_t size = 16;

    while (size < 2 * list->count)
        size *= 2;
    table->slots = platform_allocate(size * sizeof *table->slots);
    table->mask = size - 1;
    for (size_t i = 0; i < list->count; i++) {
        struct candidate *candidate = &list->items[i];
        if (candidate->cold || !candidate->function)
            continue;
        size_t at = hash_name(candidate->name, text_length(candidate->name)) & table->mask;
        while (table->slots[at])
            at = (at + 1) & table->mask;
        table->slots[at] = candidate;
    }
}

static struct code_function *name_table_owner(const struct name_table *table,
                                              const struct candidate *cold)
{
    size_t length = text_length(cold->name) - 5;
    struct code_function *global = NULL;
    size_t at = hash_name(cold->name, length) & table->mask;

    for (; table->slots[at]; at = (at + 1) & table->mask) {
        const struct candidate *candidate = table->slots[at];
        if (!text_equal_n(candidate->name, cold->name, length) || candidate->name[length])
            continue;
        if (candidate->source && candidate->source == cold->source)
            return candidate->function;
        if (!candidate->source)
            global = candidate->function;
    }
    return global;
}

/* ---- from candidates to ranges ---- */

static void assign_functions(struct code_module *module, struct candidates *list)
{
    struct candidate *first = NULL; /* of those at one address */
    bool any_cold = false;

    for (size_t i = 0; i < list->count; i++) {
        struct candidate *candidate = &list->items[i];
        bool guessed = !candidate->end;
        if (guessed) {
            size_t next = i + 1;
            while (next < list->count && list->items[next].start == candidate->start)
                next++;
            candidate->end = candidate->limit;
            if (next < list->count && list->items[next].start < candidate->limit)
                candidate->end = list->items[next].start;
        }
        any_cold |= candidate->cold;
        if (first && first->start == candidate->start) {
            candidate->function = first->function;
            candidate->end = first->end;
            continue;
        }
        first = candidate;
        if (!candidate->cold)
            candidate->function = function_new(module, candidate->start, candidate->end);
        if (candidate->function && guessed)
            candidate->function->flags |= CODE_FUNCTION_GUESSED;
    }
    if (!any_cold)
        return;
    struct name_table names;
    name_table_fill(&names, list);
    for (size_t i = 0; i < list->count; i++) {
        struct candidate *candidate = &list->items[i];
        if (candidate->function)
            continue;
        candidate->function = name_table_owner(&names, candidate);
        if (!candidate->function)
            candidate->function = function_new(module, candidate->start, candidate->end);
    }
    platform_release(names.slots, (names.mask + 1) * sizeof *names.slots);
}

static void range_add(struct code_module *module, uint64_t start, uint64_t end,
                      struct code_function *function)
{
    if (start >= end)
        return;
    GROW(module->ranges, module->range_count, module->range_capacity, 256);
    module->ranges[module->range_count++] =
        (struct code_range){.start = start, .end = end, .function = function};
}

/* Sweeps over the sorted candidates with a stack of those that are open, so that inner symbols
 * cut outer ones. The stack is bounded: deeper nesting than 64 does not occur outside of broken
 * files, where the innermost simply wins. */
static void ranges_from_candidates(struct code_module *module, const struct candidates *list)
{
    const struct candidate *open[64];
    size_t depth = 0;
    uint64_t at = 0;

    for (size_t i = 0; i <= list->count; i++) {
        const struct candidate *next = i < list->count ? &list->items[i] : NULL;
        uint64_t stop = next ? next->start : UINT64_MAX;
        while (depth && open[depth - 1]->end <= stop) {
            const struct candidate *top = open[--depth];
            range_add(module, at, top->end, top->function);
            at = top->end > at ? top->end : at;
        }
        if (!next)
            break;
        if (depth)
            range_add(module, at, stop, open[depth - 1]->function);
        at = stop;
        if (depth && open[depth - 1]->start == next->start)
            continue;
        if (depth < 64)
            open[depth++] = next;
    }
}

/* ---- what no symbol covers ---- */

/* Does this frame description begin with the state a function is entered in? A cold part's
 * begins by changing the frame before its first instruction. Reads only what is needed: the first
 * opcodes after the header. */
static bool starts_function(const struct image *image, uint64_t entry_offset)
{
    const uint32_t *head = image_words(image, entry_offset, 24);

    if (!head || head[0] < 20 || head[0] > 0xffff)
        return true;
    const uint8_t *entry = image_at(image, entry_offset, (uint64_t)head[0] + 4);
    if (!entry)
        return true;
    /* length, CIE pointer, start (4, pc-relative), size (4), augmentation length, data */
    uint64_t at = 16;
    uint8_t augmentation = entry[at++];
    if (augmentation & 0x80)
        return true;
    at += augmentation;
    if (at >= (uint64_t)head[0] + 4)
        return true;
    uint8_t opcode = entry[at];
    enum { DEF_CFA = 0x0c, DEF_CFA_REGISTER = 0x0d, DEF_CFA_OFFSET = 0x0e };
    return opcode != DEF_CFA && opcode != DEF_CFA_REGISTER && opcode != DEF_CFA_OFFSET;
}

static uint64_t offset_to_address(const struct image *image, uint64_t offset, bool *found)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_offset &&
            offset - segment->p_offset < segment->p_filesz) {
            *found = true;
            return segment->p_vaddr + (offset - segment->p_offset);
        }
    }
    *found = false;
    return 0;
}

/* .eh_frame_hdr holds a sorted table of (function start, its description), both relative to the
 * table's own address: the only layout that linkers write. */
static void collect_frames(struct candidates *list, const struct image *image)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type != PT_GNU_EH_FRAME)
            continue;
        const uint8_t *header = image_words(image, segment->p_offset, 12);
        if (!header || header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b)
            return;
        uint32_t count = *(const uint32_t *)(header + 8);
        const int32_t *table = image_at(image, segment->p_offset + 12, (uint64_t)count * 8);
        bool found;
        uint64_t base = offset_to_address(image, segment->p_offset, &found);
        if (!table || !found)
            return;
        for (uint32_t j = 0; j < count; j++) {
            uint64_t start = base + (int64_t)table[2 * j];
            uint64_t entry_offset = segment->p_offset + (int64_t)table[2 * j + 1];
            const uint32_t *size_bytes = image_words(image, entry_offset + 12, 4);
            if (!size_bytes || !*size_bytes || !starts_function(image, entry_offset))
                continue;
            *candidates_add(list) = (struct candidate){
                .start = start, .end = start + *size_bytes, .limit = start + *size_bytes};
        }
        return;
    }
}

/* The first of the sorted ranges that ends after `address`, or range_count. */
static size_t range_after(const struct code_range *ranges, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool range_before(const void *a, const void *b)
{
    return ((const struct code_range *)a)->start < ((const struct code_range *)b)->start;
}

/* Frames and sections may overlap in a file that lies: a range ends where the next begins. */
static void cut_overlaps(struct code_module *module)
{
    size_t kept = 0;

    for (size_t i = 0; i < module->range_count; i++) {
        struct code_range range = module->ranges[i];
        if (i + 1 < module->range_count && module->ranges[i + 1].start < range.end)
            range.end = module->ranges[i + 1].start;
        if (range.start < range.end)
            module->ranges[kept++] = range;
    }
    module->range_count = kept;
}

static void fill_gaps_from_frames(struct code_module *module, const struct image *image)
{
    struct candidates frames = {0};
    size_t known = module->range_count;

    collect_frames(&frames, image);
    for (size_t i = 0; i < frames.count; i++) {
        uint64_t start = frames.items[i].start;
        uint64_t end = frames.items[i].end;
        size_t next = range_after(module->ranges, known, start);
        if (next < known && module->ranges[next].start <= start)
            continue;
        if (next < known && module->ranges[next].start < end)
            end = module->ranges[next].start;
        range_add(module, start, end, function_new(module, start, end));
    }
    platform_release(frames.items, frames.capacity * sizeof *frames.items);
    sort_items(module->ranges, module->range_count, sizeof *module->ranges, range_before);
}

static void add_stub_sections(struct code_module *module, const struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        const char *name = section_name(image, section);
        if (!section->sh_addr || !(text_starts_with(name, ".plt") || text_equal(name, ".iplt")))
            continue;
        size_t next = range_after(module->ranges, module->range_count, section->sh_addr);
        if (next < module->range_count && module->ranges[next].start <= section->sh_addr)
            continue;
        range_add(module, section->sh_addr, section->sh_addr + section->sh_size, NULL);
        sort_items(module->ranges, module->range_count, sizeof *module->ranges, range_before);
    }
}

static bool has_debug_section(const struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const char *name = section_name(image, &image->sections[i]);
        if (text_equal(name, ".debug_info") || text_equal(name, ".gnu_debuglink"))
            return true;
    }
    return false;
}

/* The separate debug file of a stripped one, where Debian's -dbgsym packages put it. */
static bool collect_debug_symbols(struct candidates *list, const struct code_module *module,
                                  const uint8_t **bytes, size_t *size_bytes)
{
    static const char folder[] = "/usr/lib/debug/.build-id/";
    char path[sizeof folder + 64 + 8];
    size_t at = 0;

    if (!module->build_id[0] || !module->build_id[1] || !module->build_id[2])
        return false;
    for (size_t i = 0; folder[i]; i++)
        path[at++] = folder[i];
    for (size_t i = 0; module->build_id[i]; i++) {
        if (i == 2)
            path[at++] = '/';
        path[at++] = module->build_id[i];
    }
    for (const char *suffix = ".debug"; *suffix; suffix++)
        path[at++] = *suffix;
    path[at] = '\0';
    if (!platform_map_file(path, bytes, size_bytes))
        return false;
    struct image image;
    if (image_open(&image, *bytes, *size_bytes))
        collect_symbols(list, &image, SHT_SYMTAB);
    return true;
}

void elf_read_functions(struct code_module *module, const uint8_t *bytes, size_t size_bytes)
{
    struct image image;
    struct candidates list = {0};
    const uint8_t *debug_bytes = NULL;
    size_t debug_size_bytes = 0;

    if (!image_open(&image, bytes, size_bytes))
        return;
    read_build_id(module, &image);
    collect_symbols(&list, &image, SHT_SYMTAB);
    bool debug_mapped =
        !list.count && collect_debug_symbols(&list, module, &debug_bytes, &debug_size_bytes);
    if (!list.count)
        collect_symbols(&list, &image, SHT_DYNSYM);
    sort_items(list.items, list.count, sizeof *list.items, candidate_before);
    assign_functions(module, &list);
    ranges_from_candidates(module, &list);
    platform_release(list.items, list.capacity * sizeof *list.items);
    if (debug_mapped)
        platform_unmap_file(debug_bytes, debug_size_bytes);
    module->has_lines = debug_mapped || has_debug_section(&image);
    add_stub_sections(module, &image);
    fill_gaps_from_frames(module, &image);
    cut_overlaps(module);
}

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
 *   - without a symbol table, what a Go program's own table says (go_functions.h)
 *   - in what no symbol covers, each entry of .eh_frame_hdr starts a function, or is the cold part
 *     of one: which of both is decided when it is first looked at (elf_frames.h, code.c)
 *   - in what neither covers, .init and .fini, or where DT_INIT and DT_FINI point to, start one each
 * Sections named .plt* and .iplt hold stubs, which never become frames.
 *
 * Cost: one pass over the symbol table and one sort; about 10 ms for 50,000 symbols.
 */
#include "core/elf_functions.h"
#include "core/elf_frames.h"
#include "core/elf_image.h"
#include "core/go_functions.h"
#include "core/grow.h"
#include "core/platform.h"
#include "core/sort.h"
#include "core/text.h"

#include <elf.h>

/* A symbol on its way to become a range. */
struct candidate {
    uint64_t start, end; /* end 0: no size, reaches to the next */
    uint64_t limit;      /* end of the section */
    const char *name;
    uint32_t source; /* number of the source file, for local symbols; 0: global, or hidden */
    bool cold;
    struct code_function *function;
};

struct candidates {
    struct candidate *items;
    size_t count, capacity;
};

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
        bool hidden = false; /* under no file's name: globals that the linker made local */
        for (size_t j = 0; j < count; j++) {
            const Elf64_Sym *symbol = &symbols[j];
            if (ELF64_ST_TYPE(symbol->st_info) == STT_FILE) {
                source++;
                hidden = symbol->st_name < strings->sh_size && !names[symbol->st_name];
            }
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
                .source = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL && !hidden ? source : 0,
            };
            if (symbol->st_size && symbol->st_size <= limit - symbol->st_value)
                candidate->end = symbol->st_value + symbol->st_size;
            candidate->cold = ends_with_cold(candidate->name);
        }
    }
}

/* Where the code ends that the address lies in; 0 if it lies in none. */
static uint64_t code_end(const struct image *image, uint64_t address)
{
    uint64_t end = 0;

    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            end = segment->p_vaddr + segment->p_filesz;
    }
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_flags & SHF_EXECINSTR && address >= section->sh_addr &&
            address - section->sh_addr < section->sh_size &&
            section->sh_addr + section->sh_size < end)
            end = section->sh_addr + section->sh_size;
    }
    return end;
}

static void collect_go_functions(struct candidates *list, const struct image *image)
{
    struct go_table table;
    struct go_function function;

    if (!go_table_find(&table, image))
        return;
    const uint64_t limit = code_end(image, table.text);
    for (uint64_t i = 0; i < table.count; i++) {
        if (!go_table_read(&table, i, &function) || function.start >= limit)
            continue;
        *candidates_add(list) = (struct candidate){
            .start = function.start,
            .end = function.end < limit ? function.end : limit,
            .limit = limit,
            .name = function.name,
        };
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

/* Of the first `known` ranges, that with the address or the next; *covered: it has it. */
static size_t known_range(const struct code_module *module, size_t known, uint64_t address,
                          bool *covered)
{
    size_t next = range_after(module->ranges, known, address);

    *covered = next < known && module->ranges[next].start <= address;
    return next;
}

static bool frames_are_covered(const struct code_module *module, const struct elf_frames *frames)
{
    bool covered = true;

    for (size_t i = 0; i < frames->count && covered; i++)
        known_range(module, module->range_count, frames->items[i].start, &covered);
    return covered;
}

static void add_frame(struct code_module *module, size_t known, const struct elf_frame *frame)
{
    uint64_t end = frame->end;
    bool covered;
    size_t next = known_range(module, known, frame->start, &covered);

    /* Of a part of nobody knows what, nothing is known. */
    if (covered || (frame->in_mid_frame && !frame->after))
        return;
    if (next < known && module->ranges[next].start < end)
        end = module->ranges[next].start;
    struct code_function *function = function_new(module, frame->start, end);
    function->after = frame->after;
    function->flags |= frame->after ? CODE_FUNCTION_PERHAPS_PART : 0;
    function->flags |= frame->in_mid_frame ? CODE_FUNCTION_GUESSED : 0;
    range_add(module, frame->start, end, function);
}

static void fill_gaps_from_frames(struct code_module *module, const struct image *image)
{
    struct elf_frames frames;
    size_t known = module->range_count;

    elf_read_frames(&frames, image);
    if (!frames_are_covered(module, &frames)) {
        elf_find_parts(&frames, image);
        for (size_t i = 0; i < frames.count; i++)
            add_frame(module, known, &frames.items[i]);
        sort_items(module->ranges, module->range_count, sizeof *module->ranges, range_before);
    }
    elf_release_frames(&frames);
}

static void add_stub_sections(struct code_module *module, const struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        const char *name = image_section_name(image, section);
        if (!section->sh_addr || !(text_starts_with(name, ".plt") || text_equal(name, ".iplt")))
            continue;
        size_t next = range_after(module->ranges, module->range_count, section->sh_addr);
        if (next < module->range_count && module->ranges[next].start <= section->sh_addr)
            continue;
        range_add(module, section->sh_addr, section->sh_addr + section->sh_size, NULL);
        sort_items(module->ranges, module->range_count, sizeof *module->ranges, range_before);
    }
}

/* A function begins there for which there is neither a symbol nor a frame. */
static void add_start(struct code_module *module, const struct image *image, uint64_t start)
{
    bool covered;
    size_t next = known_range(module, module->range_count, start, &covered);
    uint64_t end = code_end(image, start);

    if (covered || start >= end)
        return;
    if (next < module->range_count && module->ranges[next].start < end)
        end = module->ranges[next].start;
    struct code_function *function = function_new(module, start, end);
    function->flags |= CODE_FUNCTION_GUESSED;
    range_add(module, start, end, function);
    sort_items(module->ranges, module->range_count, sizeof *module->ranges, range_before);
}

/* _init and _fini, which are put together by the linker and described by nobody. */
static void add_first_and_last(struct code_module *module, const struct image *image)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        size_t count = segment->p_filesz / sizeof(Elf64_Dyn);
        const Elf64_Dyn *entries = NULL;
        if (segment->p_type == PT_DYNAMIC)
            entries = image_table(image, segment->p_offset, count, sizeof *entries);
        for (size_t j = 0; entries && j < count && entries[j].d_tag != DT_NULL; j++)
            if (entries[j].d_tag == DT_INIT || entries[j].d_tag == DT_FINI)
                add_start(module, image, entries[j].d_un.d_ptr);
    }
    for (size_t i = 0; i < image->section_count; i++) {
        const char *name = image_section_name(image, &image->sections[i]);
        if (text_equal(name, ".init") || text_equal(name, ".fini"))
            add_start(module, image, image->sections[i].sh_addr);
    }
}

static bool has_debug_section(const struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const char *name = image_section_name(image, &image->sections[i]);
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
    if (!list.count) {
        collect_symbols(&list, &image, SHT_DYNSYM);
        collect_go_functions(&list, &image);
    }
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
    add_first_and_last(module, &image);
}

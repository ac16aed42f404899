/*
 * symbol_table.c: .symtab and .dynsym become a sorted list of spans that do not overlap.
 *
 * The engines cut code into functions by the same rules (core/elf_functions.c), so that names and
 * functions agree.
 *
 * What counts: symbols of functions (STT_FUNC, STT_GNU_IFUNC), and global symbols without a type,
 * which is what hand-written assembly has, when they stand in an executable section. Local ones
 * without a type are labels far more often than functions: such a label only gives its name to a
 * function that starts at it, because it was called. Compilers' labels (.L...) and the mapping
 * symbols of RISC-V ($x, $d) do not even do that.
 *
 * Aliases, symbols with the same start, become one. The choice depends on nothing but the
 * symbols themselves:
 *   1. global or weak before local          malloc       before  __GI___libc_malloc
 *   2. fewest leading underscores           write        before  __write
 *   3. global before weak
 *   4. shortest
 *   5. bytewise smallest
 * Underscores count before binding because C libraries define the underscored name and make the
 * name that people write a weak alias of it. The longest of the aliases' sizes holds for all.
 *
 * Extent: a symbol with a size ends there; one without, or with a size beyond its section, reaches
 * to the next symbol or the end of its section. Of two that overlap the one that starts later has
 * the common part.
 *
 *      outer  |--------------------|            spans:  outer inner outer
 *      inner         |-----|
 *
 * Cold parts: `f.cold`, which compilers split off to keep rarely run code away, belong to `f`. The
 * owner is the `f` of the same compilation unit, known by the STT_FILE symbols that head each
 * unit's local symbols, or else the global `f`.
 *
 * Cost: two sorts of the function symbols; 100 000 take some 50 ms. A lookup is a binary search.
 */
#include "symbols/symbol_table.h"
#include "common/memory.h"
#include "core/go_functions.h"

#include <ctype.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with_cold(const char *name, size_t length, size_t *base)
{
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    if (length > 0 && name[length - 1] == '.' && length > 6)
        length--;
    if (length <= 5 || memcmp(name + length - 5, ".cold", 5) != 0)
        return false;
    *base = length - 5;
    return true;
}

size_t symbol_name_length(const char *name)
{
    size_t length = strcspn(name, "@");

    ends_with_cold(name, length, &length);
    return length;
}

size_t symbol_base_length(const char *name, size_t length)
{
    /* A leading dot is part of the name (function descriptors, odd assemblers). */
    const char *dot = length > 1 ? memchr(name + 1, '.', length - 1) : NULL;

    return dot ? (size_t)(dot - name) : length;
}

static bool is_mere_label(const char *name)
{
    if (name[0] == '\0' || name[0] == '@')
        return true;
    if (name[0] == '.' && name[1] == 'L')
        return true;
    return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
           (name[2] == '\0' || name[2] == '.' || name[2] == 'r');
}

static void add_symbol(struct symbol_table *table, const struct elf_file *file,
                       const GElf_Sym *entry, const char *name, uint32_t source_file)
{
    const struct code_range *range = elf_file_code_at(file, entry->st_value);
    if (!range)
        return;
    size_t length = strcspn(name, "@"), base = length;
    bool cold = ends_with_cold(name, length, &base);
    bool local = GELF_ST_BIND(entry->st_info) == STB_LOCAL;
    uint64_t room = range->end - entry->st_value;
    struct symbol symbol = {
        .start = entry->st_value,
        .end = entry->st_value + (entry->st_size <= room ? entry->st_size : 0),
        .name = name,
        .name_length = (uint32_t)base,
        .source_file = source_file,
        .local = local,
        .weak = GELF_ST_BIND(entry->st_info) == STB_WEAK,
        .cold = cold,
    };
    if (local && GELF_ST_TYPE(entry->st_info) == STT_NOTYPE)
        *array_push(table->labels, table->label_count, table->label_capacity) = symbol;
    else
        *array_push(table->symbols, table->symbol_count, table->symbol_capacity) = symbol;
}

static void read_section(struct symbol_table *table, const struct elf_file *file, Elf_Scn *section,
                         const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    uint32_t source_file = 0;

    if (!data || header->sh_entsize == 0)
        return;
    if (header->sh_type == SHT_SYMTAB)
        table->has_symtab = true;
    size_t entry_bytes = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
    size_t count = entry_bytes ? data->d_size / entry_bytes : 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym entry;
        if (!gelf_getsym(data, (int)i, &entry))
            return;
        unsigned type = GELF_ST_TYPE(entry.st_info);
        if (type == STT_FILE)
            source_file++;
        if (entry.st_shndx == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
            continue;
        const char *name = elf_strptr(file->elf, header->sh_link, entry.st_name);
        if (name && !is_mere_label(name))
            add_symbol(table, file, &entry, name, source_file);
    }
}

/* A Go program that was stripped still has a table of its functions. */
static void read_go_functions(struct symbol_table *table, const struct elf_file *file)
{
    size_t size_bytes;
    const char *bytes = elf_rawfile(file->elf, &size_bytes);
    struct image image;
    struct go_table functions;
    struct go_function function;

    if (!bytes || !image_open(&image, (const uint8_t *)bytes, size_bytes) ||
        !go_table_find(&functions, &image))
        return;
    table->has_symtab = true;
    for (uint64_t i = 0; i < functions.count; i++) {
        if (!go_table_read(&functions, i, &function))
            continue;
        GElf_Sym entry = {
            .st_info = GELF_ST_INFO(STB_GLOBAL, STT_FUNC),
            .st_value = function.start,
            .st_size = function.end - function.start,
        };
        add_symbol(table, file, &entry, function.name, 0);
    }
}

void symbol_table_read(struct symbol_table *table, const struct elf_file *file)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(file->elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            read_section(table, file, section, &header);
    }
    if (!table->has_symtab)
        read_go_functions(table, file);
}

static size_t leading_underscores(const struct symbol *symbol)
{
    return strspn(symbol->name, "_");
}

static int compare_names(const struct symbol *a, const struct symbol *b)
{
    size_t shorter = a->name_length < b->name_length ? a->name_length : b->name_length;
    int order = memcmp(a->name, b->name, shorter);

    if (order)
        return order;
    return a->name_length < b->name_length ? -1 : a->name_length > b->name_length;
}

/* Negative when `a` is the better name for the address both stand at. */
static int compare_aliases(const struct symbol *a, const struct symbol *b)
{
    if (a->local != b->local)
        return a->local - b->local;
    size_t a_score = leading_underscores(a), b_score = leading_underscores(b);
    if (a_score != b_score)
        return a_score < b_score ? -1 : 1;
    if (a->weak != b->weak)
        return a->weak - b->weak;
    if (a->name_length != b->name_length)
        return a->name_length < b->name_length ? -1 : 1;
    return compare_names(a, b);
}

static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    int order = compare_aliases(a, b);
    if (order)
        return order;
    return a->source_file < b->source_file ? -1 : a->source_file > b->source_file;
}

/* Keeps the best of those at one address; how many that leaves. */
static size_t drop_aliases(struct symbol *symbols, size_t count)
{
    size_t kept = 0;

    qsort(symbols, count, sizeof *symbols, compare_symbols);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || symbols[kept - 1].start != symbols[i].start)
            symbols[kept++] = symbols[i];
        else if (symbols[kept - 1].end < symbols[i].end)
            symbols[kept - 1].end = symbols[i].end;
    }
    return kept;
}

static void extend_unsized(struct symbol_table *table, const struct elf_file *file)
{
    for (size_t i = 0; i < table->symbol_count; i++) {
        struct symbol *symbol = &table->symbols[i];
        if (symbol->end != symbol->start)
            continue;
        const struct code_range *range = elf_file_code_at(file, symbol->start);
        symbol->end = range ? range->end : symbol->start;
        if (i + 1 < table->symbol_count && table->symbols[i + 1].start < symbol->end)
            symbol->end = table->symbols[i + 1].start;
    }
}

static void add_span(struct symbol_table *table, uint64_t start, uint64_t end, uint32_t symbol)
{
    if (start < end)
        *array_push(table->spans, table->span_count, table->span_capacity) =
            (struct symbol_span){.start = start, .end = end, .symbol = symbol};
}

static void make_spans(struct symbol_table *table)
{
    uint32_t *open = NULL; /* symbols that began and have not ended, innermost last */
    size_t open_count = 0, open_capacity = 0;
    uint64_t position = 0;

    for (size_t i = 0; i <= table->symbol_count; i++) {
        uint64_t next = i < table->symbol_count ? table->symbols[i].start : UINT64_MAX;
        while (open_count) {
            const struct symbol *top = &table->symbols[open[open_count - 1]];
            uint64_t end = top->end < next ? top->end : next;
            add_span(table, position, end, open[open_count - 1]);
            if (position < end)
                position = end;
            if (top->end > next)
                break;
            open_count--;
        }
        if (position < next)
            position = next;
        if (i < table->symbol_count)
            *array_push(open, open_count, open_capacity) = (uint32_t)i;
    }
    free(open);
}

static int compare_symbol_names(const void *left, const void *right, void *opaque)
{
    const struct symbol *symbols = opaque;
    const struct symbol *a = &symbols[*(const uint32_t *)left];
    const struct symbol *b = &symbols[*(const uint32_t *)right];
    int order = compare_names(a, b);

    if (order)
        return order;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* `sorted` holds all symbols by name; a run of equal names has a cold part and its candidates. */
static uint64_t find_owner(const struct symbol_table *table, const uint32_t *sorted, size_t first,
                           size_t last, const struct symbol *part)
{
    const struct symbol *best = part;

    for (size_t i = first; i < last; i++) {
        const struct symbol *candidate = &table->symbols[sorted[i]];
        if (candidate->cold)
            continue;
        if (candidate->local && candidate->source_file == part->source_file)
            return candidate->start;
        if (!candidate->local)
            best = candidate;
    }
    return best->start;
}

static uint32_t name_hash(const struct symbol *symbol)
{
    uint32_t hash = symbol->name_length;

    for (uint32_t i = 0; i < symbol->name_length; i++)
        hash = (hash ^ (unsigned char)symbol->name[i]) * 16777619u;
    return hash >> 16;
}

/* Must run while the aliases are still there: `f.cold` may be named after any of them. Few symbols
 * have the name of a cold part, and only those are sorted. */
static void find_owners(struct symbol_table *table)
{
    bool *names = NULL; /* of cold parts, by their hash */
    size_t count = 0;

    for (size_t i = 0; i < table->symbol_count; i++) {
        table->symbols[i].owner_start = table->symbols[i].start;
        if (!table->symbols[i].cold)
            continue;
        if (!names)
            names = memory_allocate_zeroed(65536, sizeof *names);
        names[name_hash(&table->symbols[i])] = true;
    }
    if (!names)
        return;
    uint32_t *sorted = memory_allocate(table->symbol_count * sizeof *sorted);
    for (size_t i = 0; i < table->symbol_count; i++)
        if (names[name_hash(&table->symbols[i])])
            sorted[count++] = (uint32_t)i;
    free(names);
    qsort_r(sorted, count, sizeof *sorted, compare_symbol_names, table->symbols);
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count && !compare_names(&table->symbols[sorted[first]],
                                                              &table->symbols[sorted[last]]);)
            last++;
        for (size_t i = first; i < last; i++) {
            struct symbol *symbol = &table->symbols[sorted[i]];
            if (symbol->cold)
                symbol->owner_start = find_owner(table, sorted, first, last, symbol);
        }
    }
    free(sorted);
}

void symbol_table_finish(struct symbol_table *table, const struct elf_file *file)
{
    if (table->label_count)
        table->label_count = drop_aliases(table->labels, table->label_count);
    if (table->symbol_count == 0)
        return;
    find_owners(table);
    table->symbol_count = drop_aliases(table->symbols, table->symbol_count);
    extend_unsized(table, file);
    make_spans(table);
}

void symbol_table_free(struct symbol_table *table)
{
    free(table->symbols);
    free(table->spans);
    free(table->labels);
    *table = (struct symbol_table){0};
}

static const struct symbol *find_in_spans(const struct symbol_table *table, uint64_t address)
{
    size_t low = 0, high = table->span_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->spans[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == table->span_count || table->spans[low].start > address)
        return NULL;
    return &table->symbols[table->spans[low].symbol];
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
    const struct symbol *symbol = find_in_spans(table, address);

    if (!symbol || symbol->owner_start == symbol->start)
        return symbol;
    const struct symbol *owner = find_in_spans(table, symbol->owner_start);
    return owner ? owner : symbol;
}

const struct symbol *symbol_table_find_start(const struct symbol_table *table, uint64_t start)
{
    const struct symbol *symbol = find_in_spans(table, start);
    size_t low = 0, high = table->label_count;

    if (symbol && symbol->start == start)
        return symbol_table_find(table, start);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->labels[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < table->label_count && table->labels[low].start == start)
        return &table->labels[low];
    return symbol_table_find(table, start);
}

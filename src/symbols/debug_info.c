/*
 * debug_info.c: asks DWARF about all addresses of a module at once.
 *
 * Symbolising happens after the run, so every address is known before the first question. The
 * reader keeps them sorted and goes through the debug info once: a unit, a function or an inlined
 * copy that holds none of them is stepped over, and one that does writes itself into the answers
 * of those it holds. Children overwrite their parents, so what remains is the innermost node;
 * node.parent gives the rest of the chain. No index is built and no address is searched for:
 *
 *      addresses   a0  a1  a2  a3  a4  a5
 *      main        [    ...............  ]          depth 0 writes all of them,
 *      inlined f       [    .......  ]              then f its own,
 *      inlined g            [   ]                   then g
 *      answers     m   f   g   g   f   m
 *
 * Two functions on one address (linkers fold identical code): the first in the file keeps it.
 * An inlined copy writes only where its parent stands, so chains hold together whatever the file
 * says.
 *
 * Cost: 31 MB of .debug_info take 0.15 s when few addresses are asked for, and 0.7 s with all its
 * half a million instructions. Memory is the addresses, the nodes that hold them, and the line
 * tables of the units that hold them.
 *
 * Hostile files: libdw checks every offset, and each of its entries lies behind the one before
 * it. What remains are structures that overlap, so that following them takes for ever; hence the
 * budget: steps_left counts bytes walked over and answers written, and starts well above what a
 * sound file of this size can need. A unit with an error in it is dropped whole.
 */
#include "symbols/debug_reader.h"
#include "common/memory.h"

#include <dwarf.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Entries nest some twenty deep, and every level may have to be stepped over once more. */
#define STEPS_PER_BYTE 64
/* Every address is written once for each function on its inline chain. */
#define STEPS_PER_ADDRESS 1024
#define STEPS_AT_LEAST    (1 << 20)

struct interval debug_interval(const struct debug_reader *reader, uint64_t start, uint64_t end)
{
    struct interval interval;

    for (int side = 0; side < 2; side++) {
        uint64_t wanted = side ? end : start;
        size_t low = side ? interval.first : 0, high = reader->address_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (reader->addresses[middle] < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        *(side ? &interval.last : &interval.first) = low;
    }
    return interval;
}

int debug_find_intervals(struct debug_reader *reader, Dwarf_Die *die, bool *has_ranges)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;

    reader->interval_count = 0;
    *has_ranges = false;
    while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        *has_ranges = true;
        if (!debug_spend(reader, 1))
            return ERROR;
        if (start >= end || !elf_file_code_at(reader->file, start))
            continue;
        struct interval interval = debug_interval(reader, start, end);
        if (interval.first < interval.last)
            *array_push(reader->intervals, reader->interval_count, reader->interval_capacity) =
                interval;
    }
    return offset < 0 ? ERROR : OK;
}

static bool language_mangles(int language)
{
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2a: /* C++17 and C++20, which older headers do not know */
    case 0x2b:
    case DW_LANG_Rust:
    case DW_LANG_D:
        return true;
    default:
        return false;
    }
}

static bool language_is_c(int language)
{
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
           language == DW_LANG_C11 || language == DW_LANG_Mips_Assembler;
}

static void forget_unit(struct debug_info *info, uint32_t unit)
{
    for (size_t i = 0; i < info->reader->address_count; i++)
        if (info->answers[i].unit == unit)
            info->answers[i] = (struct debug_answer){DEBUG_NONE, DEBUG_NONE, DEBUG_NONE, 0};
    const char *reason = dwarf_errmsg(0);
    if (info->damaged_unit_count++ == 0)
        snprintf(info->damage, sizeof info->damage, "%s", reason ? reason : "contradicts itself");
}

static int read_unit(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;
    int language = dwarf_srclang(&reader->tree_die);

    if (dwarf_tag(&reader->tree_die) == DW_TAG_invalid)
        return ERROR;
    reader->mangles = language_mangles(language);
    reader->has_types_with_code = !language_is_c(language);
    return debug_walk_unit(info) == OK && debug_read_lines(info) == OK ? OK : ERROR;
}

/* Whether any address may be in the unit. One that does not say where its code is may hold any;
 * so may one that cannot be read, which is found out when it is. */
static bool unit_is_wanted(struct debug_reader *reader, Dwarf_Die *die)
{
    bool has_ranges;

    if (pair_map_get(&reader->units_in_aranges, dwarf_dieoffset(die), 0) == DEBUG_UNWANTED)
        return false;
    int tag = dwarf_tag(die);
    if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
        return tag == DW_TAG_invalid;
    if (debug_find_intervals(reader, die, &has_ranges) != OK)
        return true;
    return !has_ranges || reader->interval_count > 0;
}

static size_t file_bytes(Elf *elf)
{
    size_t bytes = 0;

    elf_rawfile(elf, &bytes);
    return bytes;
}

/* The functions of a split unit are in a file of their own. */
static void open_split_unit(struct debug_info *info, Dwarf_CU *unit)
{
    struct debug_reader *reader = info->reader;

    if (!debug_open_split(reader, unit)) {
        info->missing_split_count++;
        return;
    }
    Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(reader->tree_die.cu));
    reader->steps_left += (int64_t)file_bytes(elf) * STEPS_PER_BYTE;
}

static void read_units(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;
    Dwarf_CU *unit = NULL;
    uint8_t type;
    Dwarf_Half version;
    bool any = false;
    int status;

    while ((status = dwarf_get_units(reader->dwarf, unit, &unit, &version, &type, &reader->unit_die,
                                     NULL)) == 0) {
        any = true;
        if (!unit_is_wanted(reader, &reader->unit_die))
            continue;
        reader->unit = (uint32_t)info->unit_count++;
        reader->tree_die = reader->unit_die;
        if (type == DW_UT_skeleton)
            open_split_unit(info, unit);
        dwarf_errno();
        if (read_unit(info) != OK)
            forget_unit(info, reader->unit);
        if (reader->steps_left < 0)
            break;
    }
    if (status < 0 || !any)
        forget_unit(info, (uint32_t)info->unit_count++);
    debug_find_scopes(info);
    info->gave_up = reader->steps_left < 0;
}

static Elf_Data *either_section(Elf *elf, const char *name, const char *other)
{
    Elf_Data *data = elf_file_section(elf, name);

    return data ? data : elf_file_section(elf, other);
}

void debug_info_read(struct debug_info *info, const struct elf_file *file,
                     const struct elf_file *alternate, const struct elf_file *package,
                     const uint64_t *addresses, size_t count)
{
    struct debug_reader *reader = memory_allocate_zeroed(1, sizeof *reader);

    *info = (struct debug_info){.reader = reader};
    info->answers = memory_allocate(count * sizeof *info->answers);
    for (size_t i = 0; i < count; i++)
        info->answers[i] = (struct debug_answer){DEBUG_NONE, DEBUG_NONE, DEBUG_NONE, 0};
    reader->file = file;
    reader->addresses = addresses;
    reader->address_count = count;
    bool has_package = package && split_package_open(&reader->package, package);
    reader->image = debug_image_open(file, has_package);
    reader->dwarf = dwarf_begin_elf(reader->image.elf, DWARF_C_READ, NULL);
    if (!reader->dwarf) {
        forget_unit(info, (uint32_t)info->unit_count++);
        return;
    }
    /* libdw has decompressed the sections by now. */
    reader->lines = either_section(reader->image.elf, ".debug_line", ".zdebug_line");
    Elf_Data *entries = either_section(reader->image.elf, ".debug_info", ".zdebug_info");
    reader->file_bytes = file_bytes(file->elf) + (entries ? entries->d_size : 0);
    Elf_Data *aranges = either_section(reader->image.elf, ".debug_aranges", ".zdebug_aranges");
    if (entries && aranges)
        debug_read_aranges(reader, entries, aranges);
    if (alternate) {
        reader->alternate_image = debug_image_open(alternate, false);
        reader->alternate = dwarf_begin_elf(reader->alternate_image.elf, DWARF_C_READ, NULL);
    }
    if (reader->alternate)
        dwarf_setalt(reader->dwarf, reader->alternate);
    reader->steps_left = STEPS_AT_LEAST + (int64_t)reader->file_bytes * STEPS_PER_BYTE +
                         (int64_t)count * STEPS_PER_ADDRESS;
    read_units(info);
    if (info->gave_up)
        for (size_t i = 0; i < count; i++)
            info->answers[i] = (struct debug_answer){DEBUG_NONE, DEBUG_NONE, DEBUG_NONE, 0};
}

void debug_info_free(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;

    if (!reader)
        return;
    for (size_t i = 0; i < info->file_count; i++)
        free(info->files[i]);
    for (size_t i = 0; i < info->function_count; i++)
        free(info->functions[i].scope);
    dwarf_end(reader->dwarf);
    dwarf_end(reader->alternate);
    debug_image_close(&reader->image);
    debug_image_close(&reader->alternate_image);
    pair_map_free(&reader->units_in_aranges);
    pair_map_free(&reader->function_of_die);
    pair_map_free(&reader->file_of_name);
    pair_map_free(&reader->scope_wanted);
    pair_map_free(&reader->scopes_in_unit);
    free(reader->scope_units);
    free(reader->intervals);
    free(reader->levels);
    free(reader);
    free(info->answers);
    free(info->nodes);
    free(info->functions);
    free(info->files);
    *info = (struct debug_info){0};
}

/*
 * debug_aranges.c: which units .debug_aranges says have none of the addresses asked for.
 *
 * A C library has thousands of units, of which a profile needs some hundred. To ask each for its
 * ranges means to read its abbreviations, most of which stand before the one of the unit itself:
 * that took as long as reading the units that are needed. This section has the ranges of all units
 * one after the other:
 *
 *      length | version | offset of the unit | sizes | (start, length) ... (0, 0)
 *
 * Compilers that write it write all of a unit's ranges. A unit that is not in it, or is there without
 * a range, is asked itself, as is one of a kind that is rare.
 */
#include "symbols/debug_reader.h"

#include <dwarf.h>
#include <string.h>

struct bytes {
    const uint8_t *at, *end;
    bool failed; /* something did not fit; every read after that gives 0 */
};

static uint64_t take_number(struct bytes *bytes, size_t size_bytes)
{
    uint64_t number = 0;

    if ((size_t)(bytes->end - bytes->at) < size_bytes) {
        bytes->failed = true;
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&number, bytes->at, size_bytes);
    bytes->at += size_bytes;
    return number;
}

/* The length that begins a unit or a set of ranges; what follows it, up to that length, are `rest`.
 * How large offsets are; 0 when it is damaged. */
static size_t take_length(struct bytes *bytes, struct bytes *rest)
{
    uint64_t length = take_number(bytes, 4);
    size_t offset_bytes = length == UINT32_MAX ? 8 : 4;

    if (offset_bytes == 8)
        length = take_number(bytes, 8);
    if (bytes->failed || length > (uint64_t)(bytes->end - bytes->at))
        return 0;
    *rest = (struct bytes){.at = bytes->at, .end = bytes->at + length};
    bytes->at += length;
    return offset_bytes;
}

/* Where the first entry of the unit at `offset` is; 0: it is of another kind. */
static uint64_t first_entry(const Elf_Data *units, uint64_t offset)
{
    if (offset >= units->d_size)
        return 0;
    const uint8_t *start = units->d_buf;
    struct bytes all = {.at = start + offset, .end = start + units->d_size}, unit;
    size_t offset_bytes = take_length(&all, &unit);
    if (!offset_bytes)
        return 0;
    uint64_t version = take_number(&unit, 2);
    bool is_plain = version >= 2 && version <= 4;
    if (version == 5)
        is_plain = take_number(&unit, 1) == DW_UT_compile;
    take_number(&unit, 1);            /* size of addresses */
    take_number(&unit, offset_bytes); /* where its abbreviations are */
    return is_plain && !unit.failed ? (uint64_t)(unit.at - start) : 0;
}

/* Whether the set of ranges has any, none of which holds an address. */
static bool excludes_unit(const struct debug_reader *reader, struct bytes *set,
                          size_t address_bytes)
{
    bool any = false;

    while (!set->failed) {
        uint64_t start = take_number(set, address_bytes), length = take_number(set, address_bytes);
        if (!start && !length)
            break;
        struct interval interval = debug_interval(reader, start, start + length);
        if (start + length < start || interval.first < interval.last)
            return false;
        any = true;
    }
    return any && !set->failed;
}

void debug_read_aranges(struct debug_reader *reader, const Elf_Data *units, const Elf_Data *aranges)
{
    const uint8_t *start = aranges->d_buf;
    struct bytes all = {.at = start, .end = start + aranges->d_size}, set;

    while (all.at < all.end) {
        const uint8_t *begin = all.at;
        size_t offset_bytes = take_length(&all, &set);
        if (!offset_bytes)
            return;
        uint64_t version = take_number(&set, 2), unit = take_number(&set, offset_bytes);
        uint64_t address_bytes = take_number(&set, 1), segment_bytes = take_number(&set, 1);
        if (version != 2 || (address_bytes != 4 && address_bytes != 8) || segment_bytes)
            continue;
        size_t beyond = (size_t)(set.at - begin) % (2 * address_bytes);
        if (beyond && (size_t)(set.end - set.at) >= 2 * address_bytes - beyond)
            set.at += 2 * address_bytes - beyond;
        uint64_t entry = first_entry(units, unit);
        if (!entry)
            continue;
        /* A unit may have several sets, and one of them that wants it is enough. */
        bool excludes = excludes_unit(reader, &set, address_bytes);
        uint32_t *state = pair_map_at(&reader->units_in_aranges, entry, 0);
        if (!excludes || *state == PAIR_MAP_NONE)
            *state = excludes ? DEBUG_UNWANTED : DEBUG_ASK;
    }
}

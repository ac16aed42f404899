/*
 * debug_reader.h: shared by the files that read DWARF; nobody else needs it.
 */
#ifndef TRUEFLAME_DEBUG_READER_H
#define TRUEFLAME_DEBUG_READER_H

#include "symbols/debug_image.h"
#include "symbols/debug_info.h"
#include "symbols/pair_map.h"
#include "symbols/split_package.h"

#include <elfutils/libdw.h>

/* Addresses number `first` up to, not including, `last`. */
struct interval {
    size_t first, last;
};

struct level {
    Dwarf_Die die;
    uint32_t node; /* what the entries of this level are inside of */
};

struct debug_reader {
    Dwarf *dwarf, *alternate;
    struct debug_image image, alternate_image; /* what those two were opened from */
    struct split_package package;              /* used where the image has room to say so */
    Elf_Data *lines;                           /* .debug_line; NULL when there is none */
    const struct elf_file *file;
    const uint64_t *addresses;
    size_t address_count;
    size_t file_bytes;
    int64_t steps_left; /* see debug_info.c */

    /* Of the unit being read: */
    uint32_t unit;
    Dwarf_Die unit_die; /* has the line table; the skeleton of a split unit */
    Dwarf_Die tree_die; /* has the functions */
    bool mangles;       /* its language puts scopes into symbols */
    bool has_types_with_code;

    struct pair_map
        units_in_aranges;            /* the offset of a unit's first entry to what they say of it */
    struct pair_map function_of_die; /* the declaring entry's address to function */
    struct pair_map file_of_name;    /* libdw's text to file */
    struct pair_map scope_wanted;    /* the declaring entry's address to function */
    struct pair_map scopes_in_unit;  /* unit to how many of scope_wanted are in it */
    Dwarf_CU **scope_units;          /* the units in scopes_in_unit */
    size_t scope_unit_count, scope_unit_capacity;
    struct interval *intervals; /* of the entry being looked at */
    size_t interval_count, interval_capacity;
    struct level *levels;
    size_t level_count, level_capacity;
};

/* Counts work; false once the budget is spent, which ends the reading of the module. */
static inline bool debug_spend(struct debug_reader *reader, uint64_t steps)
{
    reader->steps_left -= steps < INT32_MAX ? (int64_t)steps : INT32_MAX;
    return reader->steps_left >= 0;
}

/* Fills reader->intervals with the addresses in the entry's ranges. ERROR when they are damaged.
 * `*has_ranges` tells an entry without code from one with code that nobody asked about. */
int debug_find_intervals(struct debug_reader *reader, Dwarf_Die *die, bool *has_ranges);

/* The interval of addresses in [start, end). */
struct interval debug_interval(const struct debug_reader *reader, uint64_t start, uint64_t end);

enum { DEBUG_ASK, DEBUG_UNWANTED };

/* Fills reader->units_in_aranges. `units`: .debug_info. */
void debug_read_aranges(struct debug_reader *reader, const Elf_Data *units,
                        const Elf_Data *aranges);

/* Depth-first: the entry at hand is that of the last level; no levels: the walk is over. */
int debug_walk_start(struct debug_reader *reader);
int debug_walk_advance(struct debug_reader *reader); /* to the next, not entering this one */
int debug_walk_enter(struct debug_reader *reader, uint32_t node); /* its children, if any, next */

/* One depth-first walk over the unit's functions and what was inlined into them. */
int debug_walk_unit(struct debug_info *info);

/* The unit's line table. */
int debug_read_lines(struct debug_info *info);

/* The file that libdw calls `name`, made absolute by the unit's directory; DEBUG_NONE for NULL. */
uint32_t debug_file(struct debug_info *info, const char *name, Dwarf_Die *unit_die);

/* Asks for the scope of a function that `declaration` declares. */
void debug_want_scope(struct debug_reader *reader, const Dwarf_Die *declaration, uint32_t function);

/* Finds the scopes asked for: another walk, only over units that have such functions. */
void debug_find_scopes(struct debug_info *info);

/* Sets tree_die to that of a split unit; unit_die is its skeleton. False when it was not found. */
bool debug_open_split(struct debug_reader *reader, Dwarf_CU *unit);

/* The function whose declaration `die`, or what it refers to, is. */
uint32_t debug_function_of(struct debug_info *info, Dwarf_Die *die);

#endif

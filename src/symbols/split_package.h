/*
 * split_package.h: a .dwp file: split debug info of many units, put together.
 */
#ifndef TRUEFLAME_SPLIT_PACKAGE_H
#define TRUEFLAME_SPLIT_PACKAGE_H

#include "symbols/elf_file.h"

enum { SPLIT_SECTION_COUNT = 9 }; /* sections are numbered as in the package's index */

struct split_package {
    const struct elf_file *file;
    const uint8_t *index; /* behind its header */
    uint32_t version, column_count, unit_count, slot_count;
    Elf_Data *sections[SPLIT_SECTION_COUNT]; /* number 0: the strings; NULL: there is none */
};

/* Reads the package's index. False when it has none that can be used. The file must stay open as
 * long as the package is used; nothing needs freeing. */
bool split_package_open(struct split_package *package, const struct elf_file *file);

/* The .dwo file that the unit of this number was in, as a file in memory; the caller closes it. -1
 * when the package does not have the unit, or is damaged. */
int split_package_extract(const struct split_package *package, uint64_t unit_id);

#endif

/*
 * elf_functions.h: the function ranges that an ELF file declares.
 */
#ifndef TRUEFLAME_CORE_ELF_FUNCTIONS_H
#define TRUEFLAME_CORE_ELF_FUNCTIONS_H

#include "core/code.h"

/* Fills module->ranges and module->build_id from `image` (64-bit little-endian ELF). Anything that
 * is not so, or that is broken, leaves the module without the part that is. */
void elf_read_functions(struct code_module *module, const uint8_t *image, size_t size_bytes);

/* Address in the module minus file offset, for the executable segment that has `file_offset`.
 * False if there is none. */
bool elf_find_segment(const uint8_t *image, size_t size_bytes, uint64_t file_offset,
                      uint64_t *address_minus_offset);

/* The value of the dynamic symbol `name` that the file defines. False if there is none. */
bool elf_find_symbol(const uint8_t *image, size_t size_bytes, const char *name, uint64_t *value);

/* Where functions begin whose names in the file's own symbol table begin with `prefix`: the first
 * `most` of them. Returns how many. */
size_t elf_find_prefixed(const uint8_t *image, size_t size_bytes, const char *prefix,
                         uint64_t *starts, size_t most);

/* Asks `find` of the code of each executable segment for an offset, UINT64_MAX for none: the address
 * in the module of the first it finds, 0 for none. */
uint64_t elf_find_code(const uint8_t *image, size_t size_bytes,
                       uint64_t (*find)(const uint8_t *code, size_t size_bytes));

/* The stretches of memory, as addresses in the module, that the file's data takes: those that are
 * loaded and not executable, the first `most` of them. Returns how many. */
struct elf_stretch {
    uint64_t start, end;
};

size_t elf_data_stretches(const uint8_t *image, size_t size_bytes, struct elf_stretch *stretches,
                          size_t most);

#endif

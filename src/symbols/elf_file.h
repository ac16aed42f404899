/*
 * elf_file.h: one ELF file, open for reading.
 */
#ifndef TRUEFLAME_ELF_FILE_H
#define TRUEFLAME_ELF_FILE_H

#include "common/error.h"
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of the code that the kernel maps into every process. */
#define ELF_FILE_VDSO "[vdso]"

struct code_range {
    uint64_t start, end;
};

struct elf_file {
    char *path;
    char *build_id; /* hex, "" where there is none */
    Elf *elf;
    int descriptor;
    struct code_range *code; /* executable sections, sorted by start */
    size_t code_count, code_capacity;
};

/* Opens an executable, a library or a debug file. On ERROR nothing stays open and the message
 * names the file. elf_file_close may be called on a zeroed or already closed file. */
int elf_file_open(struct elf_file *file, const char *path, struct error *error);
void elf_file_close(struct elf_file *file);

/* The bytes of the first section of that name; NULL when there is none or it is empty. They stay
 * until the file is closed, and are compressed unless libdw has opened the file. */
Elf_Data *elf_file_section(Elf *elf, const char *name);

/* Whether its compressed sections claim to be far larger than real ones get: decompressing them
 * would fill the memory. */
bool elf_file_is_bomb(const struct elf_file *file);

/* The code range that holds `address`, NULL when no code can be there. */
const struct code_range *elf_file_code_at(const struct elf_file *file, uint64_t address);

#endif

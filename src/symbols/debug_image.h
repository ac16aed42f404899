/*
 * debug_image.h: the debug sections of a file as libdw wants them: decompressed.
 */
#ifndef TRUEFLAME_DEBUG_IMAGE_H
#define TRUEFLAME_DEBUG_IMAGE_H

#include "symbols/elf_file.h"

/* What libdw is to open instead of the file: an ELF file in memory, or the file's own handle. */
struct debug_image {
    Elf *elf;
    char *bytes; /* NULL: `elf` is the file's */
};

/* The file must stay open until debug_image_close. Never fails: what cannot be decompressed here is
 * left to libdw, which says what is wrong with it. */
struct debug_image debug_image_open(const struct elf_file *file);
void debug_image_close(struct debug_image *image);

#endif

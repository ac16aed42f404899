/*
 * debug_image.h: the debug sections of a file as libdw wants them: decompressed.
 */
#ifndef TRUEFLAME_DEBUG_IMAGE_H
#define TRUEFLAME_DEBUG_IMAGE_H

#include "symbols/elf_file.h"

#define DEBUG_IMAGE_SPARE_BYTES 32

/* What libdw is to open instead of the file: an ELF file in memory, or the file's own handle. */
struct debug_image {
    Elf *elf;
    char *bytes; /* NULL: `elf` is the file's */
    size_t size_bytes;
    char *spare;           /* room for another text at the end of .debug_str; NULL: none */
    uint64_t spare_offset; /* in .debug_str */
};

/* The file must stay open until debug_image_close. `spare`: an image with room for a text is wanted,
 * also of a file that has nothing to decompress. Never fails: what cannot be decompressed here is
 * left to libdw, which says what is wrong with it. */
struct debug_image debug_image_open(const struct elf_file *file, bool spare);
void debug_image_close(struct debug_image *image);

#endif

/*
 * core_image.h: ELF files made by hand, in memory, for the tests of the core.
 *
 * An image has a .text section [CODE_START, CODE_END), .plt right behind it, and .symtab with the
 * symbols given; on request debug information in name only, a build id, an .eh_frame_hdr, a table of
 * functions as Go's runtime has it.
 */
#ifndef TRUEFLAME_CORE_IMAGE_H
#define TRUEFLAME_CORE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_START 0x1000u
#define CODE_END   0x2000u
#define PLT_START  0x2000u
#define PLT_END    0x2100u

struct image_symbol {
    const char *name;
    uint64_t start;
    uint64_t size_bytes;
    uint8_t type; /* STT_... */
    uint8_t bind; /* STB_... */
};

/* A function's frame description: what a stripped file still has. */
struct image_frame {
    uint32_t start;
    uint32_t size_bytes;
    bool cold; /* begins in mid-function */
};

/* One of a Go program: it reaches to the next, or to where the last row is, which has no name. */
struct image_go_function {
    const char *name;
    uint32_t start;
};

struct image_parts {
    const struct image_symbol
        *symbols;                     /* ends with a NULL name; locals of a file follow its FILE */
    const struct image_frame *frames; /* ends with a size of 0 */
    const struct image_go_function *go_functions; /* NULL for none */
    bool is_loaded_anywhere; /* that table's start of the code is a relocation's */
    const char *build_id;    /* bytes, NULL for none */
    bool dynamic;            /* the symbols are in .dynsym */
    bool has_lines;
};

/* The file; to be freed. */
uint8_t *core_image_make(const struct image_parts *parts, size_t *size_bytes);

#endif

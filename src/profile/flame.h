/*
 * flame.h: what the writer and the reader of .flame share. docs/format.md tells it to the byte.
 */
#ifndef TRUEFLAME_FLAME_H
#define TRUEFLAME_FLAME_H

#include <stdint.h>

#define FLAME_MAGIC                                                                                \
    "\x89"                                                                                         \
    "FLAME\r\n" /* eight bytes; the ends catch text-mode transfers */
#define FLAME_MAGIC_BYTES 8
#define FLAME_VERSION     1

enum flame_method { FLAME_STORED, FLAME_ZSTD };

/* Little-endian in the file, in this order. */
struct flame_section {
    uint32_t id;     /* enum table_id */
    uint32_t method; /* enum flame_method */
    uint64_t stored_bytes;
    uint64_t plain_bytes;
    uint64_t checksum; /* XXH64, seed 0, of the 24 bytes before it and the stored bytes */
};

#define FLAME_SECTION_BYTES   32
#define FLAME_SECTION_CHECKED 24

#endif

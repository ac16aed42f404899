/*
 * image.h: a guest's file, read and checked, and its segments put into guest memory.
 */
#ifndef TRUEFLAME_RISCV_IMAGE_H
#define TRUEFLAME_RISCV_IMAGE_H

#include "common/error.h"
#include "engines/riscv/memory.h"
#include "engines/riscv/riscv.h"
#include <elf.h>

struct riscv_image {
    char *path;
    uint8_t *bytes; /* the whole file */
    size_t size_bytes;
    const Elf64_Ehdr *header;      /* within bytes */
    const Elf64_Phdr *segments;    /* within bytes, header->e_phnum of them */
    uint64_t bias;                 /* guest address minus address in the file */
    uint64_t entry;                /* guest address */
    uint64_t headers;              /* guest address of the program headers, 0: not loaded */
    uint64_t end;                  /* behind the highest loaded byte */
    uint64_t code_start, code_end; /* around all executable segments */
    bool compressed;               /* may hold compressed instructions */
    bool runs_stack;               /* wants to execute what it writes to its stack */
    enum riscv_abi abi;            /* what the file looks made for, never AUTO */
};

/* Reads and checks the file; every offset and size in it that is used later is valid. */
int image_read(struct riscv_image *image, const char *path, struct error *error);
void image_release(struct riscv_image *image);

/* Maps the segments. With `all_writable` permissions are what lambda has: none are checked. */
int image_load(const struct riscv_image *image, struct guest_memory *memory, bool all_writable,
               struct error *error);

#endif

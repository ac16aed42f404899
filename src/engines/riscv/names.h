/*
 * names.h: the name of the function at an address, for messages about a guest that faulted. The
 * profile gets its names after the run, from src/symbols.
 */
#ifndef TRUEFLAME_RISCV_NAMES_H
#define TRUEFLAME_RISCV_NAMES_H

#include "engines/riscv/image.h"

/* As the symbol table has it, not demangled; "" if it has none. Valid as long as the image. */
const char *names_find(const struct riscv_image *image, uint64_t address);

#endif

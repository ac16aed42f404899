/*
 * debug_file.h: where the files that explain a module are.
 */
#ifndef TRUEFLAME_DEBUG_FILE_H
#define TRUEFLAME_DEBUG_FILE_H

#include "symbols/elf_file.h"
#include "symbols/symbols.h"

/* The module's own file: at `path`, or below or in one of the debug directories. With `build_id`
 * not "", only a file that has this build id will do. On ERROR the message says what was there
 * instead. */
int debug_file_find_module(const char *path, const char *build_id,
                           const struct symbols_options *options, struct elf_file *found,
                           struct error *error);

/* The separate file with the debug info of a module: by build id, then by the name that the
 * module (NULL if its file was not found) gives in .gnu_debuglink. False when there is none. */
bool debug_file_find(const char *build_id, const struct elf_file *module,
                     const struct symbols_options *options, struct elf_file *found);

/* The file dwz moved common parts of `file`'s debug info to. False when `file` does not name one;
 * when it does and the file is missing, `found` stays closed and true is returned. */
bool debug_file_find_alternate(const struct elf_file *file, const struct symbols_options *options,
                               struct elf_file *found);

/* The package (.dwp) of the split debug info of the program or debug file at `path`: beside it, or in
 * one of the debug directories. False when there is none. */
bool debug_file_find_package(const char *path, const struct symbols_options *options,
                             struct elf_file *found);

#endif

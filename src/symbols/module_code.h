/*
 * module_code.h: everything that can be found out about one module's code.
 */
#ifndef TRUEFLAME_MODULE_CODE_H
#define TRUEFLAME_MODULE_CODE_H

#include "symbols/debug_info.h"
#include "symbols/symbol_table.h"
#include "symbols/symbols.h"

struct module_code {
    struct elf_file file;       /* the module's own; closed when it was not found */
    struct elf_file debug_file; /* its separate debug file; closed when there is none */
    struct elf_file alternate;  /* what dwz moved away; closed when there is none */
    struct elf_file package;    /* of its split units; closed when there is none */
    struct symbol_table table;
    struct debug_info debug;
    bool found;                  /* at least one of the files */
    bool wants_debug;            /* there is debug info to read */
    bool has_debug;              /* `debug` can be asked */
    enum module_symbols symbols; /* how good it is */
    const char *missing;         /* what the files do not have, for a note; NULL if nothing */
    char *note;                  /* what went wrong; NULL when nothing did */
};

/* Looks for the module's files and reads their symbols. Never fails: what went wrong is in the
 * note. */
void module_code_open(struct module_code *code, const char *path, const char *build_id,
                      const struct symbols_options *options);

/* If it wants that: reads what debug info says about `addresses` (sorted, no two the same, kept until
 * module_code_close). */
void module_code_read_debug(struct module_code *code, const struct symbols_options *options,
                            const uint64_t *addresses, size_t address_count);
void module_code_close(struct module_code *code);

#endif

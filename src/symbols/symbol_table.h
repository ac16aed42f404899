/*
 * symbol_table.h: which symbol an address belongs to, by the symbol tables alone.
 */
#ifndef TRUEFLAME_SYMBOL_TABLE_H
#define TRUEFLAME_SYMBOL_TABLE_H

#include "symbols/elf_file.h"

struct symbol {
    uint64_t start;
    uint64_t owner_start; /* of a split-off cold part: where its function starts; else `start` */
    uint64_t end;         /* after symbol_table_finish: where it ends; start + st_size before */
    const char *name;     /* in the ELF file: valid while that is open; may carry @VERSION */
    uint32_t name_length; /* without @VERSION, and without .cold */
    uint32_t source_file; /* symbols of one compilation unit stand together: number of the group */
    bool local;
    bool weak;
    bool cold;
};

/* Addresses [start, end) belong to `symbol`; spans are sorted and do not overlap. */
struct symbol_span {
    uint64_t start, end;
    uint32_t symbol;
};

struct symbol_table {
    struct symbol *symbols; /* sorted by start; of aliases only the best is kept */
    size_t symbol_count, symbol_capacity;
    struct symbol_span *spans;
    size_t span_count, span_capacity;
    struct symbol *labels; /* sorted by start, no two the same */
    size_t label_count, label_capacity;
    bool has_symtab; /* a .symtab was read, or Go's own table, not only a .dynsym */
};

/* Adds the function symbols of `file`, which must stay open as long as the table is used. Can be
 * called for several files of one module (the file itself, its debug file); then finish once, with
 * any of them (their sections are the same). */
void symbol_table_read(struct symbol_table *table, const struct elf_file *file);
void symbol_table_finish(struct symbol_table *table, const struct elf_file *file);
void symbol_table_free(struct symbol_table *table);

/* The symbol whose code `address` is in, NULL when none covers it. A cold part gives its
 * function. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* What to call a function that starts at `start`: also by a label there, if it was called. */
const struct symbol *symbol_table_find_start(const struct symbol_table *table, uint64_t start);

/* Length of `name` without @VERSION and without a trailing .cold or .cold.N. */
size_t symbol_name_length(const char *name);

/* Length of a symbol name up to the suffixes that compilers give to copies of a function
 * (.part.N, .constprop.N, .isra.N, .lto_priv.N, .llvm.N and the like). */
size_t symbol_base_length(const char *name, size_t length);

#endif

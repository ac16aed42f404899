/*
 * debug_info.h: what DWARF says about a known set of addresses: inlined functions and lines.
 */
#ifndef TRUEFLAME_DEBUG_INFO_H
#define TRUEFLAME_DEBUG_INFO_H

#include "symbols/elf_file.h"

#define DEBUG_NONE       UINT32_MAX
#define DEBUG_NO_ADDRESS UINT64_MAX

/* A function of the source, wherever its code went. The texts live as long as the debug_info. */
struct debug_function {
    const char *linkage_name; /* as a symbol table would have it; NULL unknown */
    const char *name;         /* as the source has it; NULL unknown */
    char *scope;      /* "namespace::class" where that is not in linkage_name; may be NULL */
    uint64_t address; /* where a copy that was not inlined starts, or DEBUG_NO_ADDRESS */
    uint32_t file;    /* declared in: index into `files`, or DEBUG_NONE */
    uint32_t line;    /* 0 unknown */
    bool external;    /* one function for the whole program */
    bool plain_names; /* the language does not mangle: `name` is what a symbol would be */
};

/* A function's code, or an inlined copy of a function inside another node. */
struct debug_node {
    uint32_t parent;    /* node it was inlined into; DEBUG_NONE for a function's own code */
    uint32_t function;  /* index into `functions` */
    uint32_t call_file; /* where it was called, if it was inlined; index or DEBUG_NONE */
    uint32_t call_line;
    uint64_t start; /* of a function's own code: where it is entered */
};

/* For one address: the innermost node, and the line of the source in it. */
struct debug_answer {
    uint32_t node; /* DEBUG_NONE: no function is known here (assembly) */
    uint32_t unit; /* the compilation unit that spoke; DEBUG_NONE: none did */
    uint32_t file; /* index into `files`, or DEBUG_NONE */
    uint32_t line; /* 0 unknown */
};

struct debug_info {
    struct debug_answer *answers; /* one for each address asked for */
    struct debug_node *nodes;
    size_t node_count, node_capacity;
    struct debug_function *functions;
    size_t function_count, function_capacity;
    char **files;
    size_t file_count, file_capacity;
    size_t unit_count;          /* compilation units that hold any of the addresses */
    size_t damaged_unit_count;  /* those of them that could not be read; nothing is kept of them */
    size_t missing_split_count; /* those of them whose .dwo file was not found */
    bool gave_up;               /* reading took absurdly long: nothing is kept */
    char damage[128];           /* what was wrong with the first damaged unit */
    struct debug_reader *reader;
};

/* Reads what the DWARF in `file` says about `addresses` (sorted, no two the same). `alternate` is
 * the file that dwz moved common parts to, or NULL; `package` has its split units, or is NULL. The
 * files must stay open until debug_info_free. Never fails: what cannot be read is counted and has no answers. */
void debug_info_read(struct debug_info *info, const struct elf_file *file,
                     const struct elf_file *alternate, const struct elf_file *package,
                     const uint64_t *addresses, size_t count);
void debug_info_free(struct debug_info *info);

#endif

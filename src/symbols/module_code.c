/*
 * module_code.c: opens a module's files, reads them, and says what is missing.
 *
 * The symbol table is put together from the file and its debug file: distributions strip .symtab
 * from the one and keep it in the other. Debug info comes from the file itself if it has any.
 */
#include "symbols/module_code.h"
#include "common/memory.h"
#include "symbols/debug_file.h"

#include <stdlib.h>
#include <string.h>

static bool has_debug_info(const struct elf_file *file)
{
    return file->elf && (elf_file_section(file->elf, ".debug_info") ||
                         elf_file_section(file->elf, ".zdebug_info"));
}

static void set_note(struct module_code *code, char *note)
{
    if (code->note)
        free(note);
    else
        code->note = note;
}

static void note_damage(struct module_code *code)
{
    const struct debug_info *debug = &code->debug;

    if (debug->gave_up)
        set_note(code, memory_format("debug info is damaged (it leads round in circles): names "
                                     "come from the symbol table"));
    else if (debug->damaged_unit_count)
        set_note(code, memory_format("debug info is damaged in %zu of %zu units (%s): their names "
                                     "come from the symbol table",
                                     debug->damaged_unit_count, debug->unit_count, debug->damage));
    else if (debug->missing_split_count)
        set_note(code, memory_format("split debug info is missing: %zu of %zu .dwo files were not "
                                     "found",
                                     debug->missing_split_count, debug->unit_count));
}

/* Split units have their addresses in a section of their own. */
static bool find_package(struct module_code *code, const struct elf_file *file,
                         const struct symbols_options *options)
{
    if (!elf_file_section(file->elf, ".debug_addr"))
        return false;
    return debug_file_find_package(file->path, options, &code->package) ||
           (code->file.path && code->file.path != file->path &&
            debug_file_find_package(code->file.path, options, &code->package));
}

void module_code_read_debug(struct module_code *code, const struct symbols_options *options,
                            const uint64_t *addresses, size_t address_count)
{
    const struct elf_file *file = has_debug_info(&code->file) ? &code->file : &code->debug_file;
    if (elf_file_is_bomb(file)) {
        set_note(code, memory_duplicate_string("debug info is damaged (its compressed sections "
                                               "claim absurd sizes): names come from the symbol "
                                               "table"));
        return;
    }
    bool alternate_named = debug_file_find_alternate(file, options, &code->alternate);
    if (code->alternate.elf && elf_file_is_bomb(&code->alternate))
        elf_file_close(&code->alternate);
    const struct elf_file *alternate = code->alternate.elf ? &code->alternate : NULL;

    const struct elf_file *package = find_package(code, file, options) ? &code->package : NULL;

    debug_info_read(&code->debug, file, alternate, package, addresses, address_count);
    code->has_debug =
        !code->debug.gave_up && (code->debug.damaged_unit_count == 0 ||
                                 code->debug.damaged_unit_count < code->debug.unit_count);
    if (code->has_debug)
        code->symbols = SYMBOLS_DEBUG;
    note_damage(code);
    if (alternate_named && !alternate)
        set_note(code, memory_format("the file that dwz moved common debug info to was not found: "
                                     "some inlined functions have no name"));
}

void module_code_open(struct module_code *code, const char *path, const char *build_id,
                      const struct symbols_options *options)
{
    struct error error;

    *code = (struct module_code){.symbols = SYMBOLS_NONE};
    if (debug_file_find_module(path, build_id, options, &code->file, &error) == OK)
        build_id = code->file.build_id;
    if (!has_debug_info(&code->file))
        debug_file_find(build_id, code->file.elf ? &code->file : NULL, options, &code->debug_file);
    code->found = code->file.elf || code->debug_file.elf;
    if (!code->found) {
        set_note(code, memory_duplicate_string(error.text));
        return;
    }
    if (code->file.elf)
        symbol_table_read(&code->table, &code->file);
    if (code->debug_file.elf)
        symbol_table_read(&code->table, &code->debug_file);
    symbol_table_finish(&code->table, code->file.elf ? &code->file : &code->debug_file);
    if (code->table.symbol_count)
        code->symbols = code->table.has_symtab ? SYMBOLS_TABLE : SYMBOLS_DYNAMIC;
    code->wants_debug = has_debug_info(&code->file) || has_debug_info(&code->debug_file);
    if (!code->wants_debug)
        code->missing = code->symbols == SYMBOLS_NONE      ? "no symbols and no debug info"
                        : code->symbols == SYMBOLS_DYNAMIC ? "exported symbols only, no debug info"
                                                           : "no debug info";
}

void module_code_close(struct module_code *code)
{
    debug_info_free(&code->debug);
    symbol_table_free(&code->table);
    elf_file_close(&code->package);
    elf_file_close(&code->alternate);
    elf_file_close(&code->debug_file);
    elf_file_close(&code->file);
    free(code->note);
    *code = (struct module_code){0};
}

/*
 * debug_lines.c: the line table of a unit, and names of source files.
 *
 * Compilers mark code that belongs to no line with line 0; that is kept.
 *
 * File names are made absolute by the unit's directory and freed of `.`, `..` and double slashes,
 * so that a header reached in different ways is one file. The files are not looked at: they need
 * not exist here.
 */
#include "symbols/debug_reader.h"
#include "common/memory.h"
#include "symbols/line_program.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Appends the next part of a path to the `used` bytes of `path`; `..` takes the last one away.
 * Returns the new length. */
static size_t append_part(char *path, size_t used, size_t root, const char *part, size_t length)
{
    if (length == 0 || (length == 1 && part[0] == '.'))
        return used;
    if (length == 2 && part[0] == '.' && part[1] == '.' && used > root) {
        const char *slash = memrchr(path, '/', used);
        const char *last = slash ? slash + 1 : path;
        size_t last_length = used - (size_t)(last - path);
        if (last_length != 2 || memcmp(last, "..", 2) != 0)
            return slash && slash >= path + root ? (size_t)(slash - path) : root;
    }
    if (length == 2 && part[0] == '.' && part[1] == '.' && root)
        return used; /* above the root there is only the root */
    if (used > root)
        path[used++] = '/';
    memcpy(path + used, part, length);
    return used + length;
}

static char *clean_path(const char *directory, const char *name)
{
    char *joined = directory && name[0] != '/' ? memory_format("%s/%s", directory, name)
                                               : memory_duplicate_string(name);
    char *path = memory_allocate(strlen(joined) + 2);
    size_t root = joined[0] == '/', used = root;

    path[0] = '/';
    for (const char *part = joined; *part;) {
        size_t length = strcspn(part, "/");
        used = append_part(path, used, root, part, length);
        part += length + (part[length] == '/');
    }
    path[used] = '\0';
    free(joined);
    return path;
}

/* Whether a relative name has its relative directory already: libdw puts it in front of files in
 * the unit's own directory, and compilers that were told to write another prefix write it in every
 * path (-fdebug-prefix-map). */
static bool starts_with_directory(const char *name, const char *directory)
{
    size_t length = strlen(directory);

    return length && strncmp(name, directory, length) == 0 && name[length] == '/';
}

uint32_t debug_file(struct debug_info *info, const char *name, Dwarf_Die *unit_die)
{
    Dwarf_Attribute memory;

    if (!name || !*name || strcmp(name, "???") == 0)
        return DEBUG_NONE;
    uint32_t *file = pair_map_at(&info->reader->file_of_name, (uintptr_t)name, 0);
    if (*file != DEBUG_NONE)
        return *file;
    const char *directory = NULL;
    if (name[0] != '/')
        directory = dwarf_formstring(dwarf_attr(unit_die, DW_AT_comp_dir, &memory));
    if (directory && starts_with_directory(name, directory))
        directory = NULL;
    *file = (uint32_t)info->file_count;
    *array_push(info->files, info->file_count, info->file_capacity) = clean_path(directory, name);
    return *file;
}

struct lines {
    struct debug_info *info;
    Dwarf_Files *files;
    size_t file_count;
};

static bool write_span(void *opaque, uint64_t sequence_start, uint64_t start, uint64_t end,
                       uint64_t file, uint64_t line)
{
    struct lines *lines = opaque;
    struct debug_info *info = lines->info;
    struct debug_reader *reader = info->reader;
    struct interval interval = debug_interval(reader, start, end);

    if (!debug_spend(reader, interval.last - interval.first + 1))
        return false;
    if (interval.first == interval.last || !elf_file_code_at(reader->file, sequence_start))
        return true;
    const char *name =
        file < lines->file_count ? dwarf_filesrc(lines->files, file, NULL, NULL) : NULL;
    uint32_t file_number = debug_file(info, name, &reader->unit_die);
    for (size_t at = interval.first; at < interval.last; at++) {
        struct debug_answer *answer = &info->answers[at];
        if (answer->unit != DEBUG_NONE && answer->unit != reader->unit)
            continue;
        answer->unit = reader->unit;
        answer->file = file_number;
        answer->line = line <= UINT32_MAX ? (uint32_t)line : 0;
    }
    return true;
}

int debug_read_lines(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;
    struct lines lines = {.info = info};
    Dwarf_Attribute memory;
    Dwarf_Word offset;

    if (!dwarf_hasattr(&reader->unit_die, DW_AT_stmt_list))
        return OK;
    if (!reader->lines ||
        dwarf_formudata(dwarf_attr(&reader->unit_die, DW_AT_stmt_list, &memory), &offset) != 0 ||
        dwarf_getsrcfiles(&reader->unit_die, &lines.files, &lines.file_count) != 0)
        return ERROR;
    return line_program_run(reader->lines->d_buf, reader->lines->d_size, offset, write_span,
                            &lines) == 0
               ? OK
               : ERROR;
}

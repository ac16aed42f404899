/*
 * symbol_dump.c: what profile_symbolize says about addresses, in the form of `addr2line -a -i -f`.
 *
 *     symbol-dump [--debug-dir=DIR]... [--build-id=HEX] [--functions] FILE < addresses
 *
 * Addresses are hexadecimal, one a line. For each one it prints the address, then for each frame,
 * innermost first, its symbol (its name where there is no symbol) and FILE:LINE, `??:0` where
 * that is unknown. What `info` would say of the module goes to stderr. With --functions the
 * profile has an entry for every function symbol, as if all had run, and stderr says how many
 * functions that were inlined have a second entry all the same.
 */
#include "common/memory.h"
#include "symbols/symbol_table.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_site(const struct profile *profile, const struct site *site)
{
    printf("0x%016" PRIx64 "\n", site->address);
    uint32_t count = site->location == NONE ? 0 : profile->locations[site->location].count;
    if (count == 0)
        puts("??\n??:0");
    for (uint32_t i = count; i-- > 0;) {
        const struct location_frame *frame =
            &profile->location_frames[profile->locations[site->location].first + i];
        const struct function *function = &profile->functions[frame->function];
        const char *file = profile_string(profile, frame->file);
        puts(profile_string(profile, function->symbol ? function->symbol : function->name));
        printf("%s:%" PRIu32 "\n", *file ? file : "??", frame->line);
    }
}

static void add_functions(struct profile *profile, const char *path)
{
    struct elf_file file;
    struct symbol_table table = {0};
    struct error error;

    if (elf_file_open(&file, path, &error) != OK)
        return;
    symbol_table_read(&table, &file);
    symbol_table_finish(&table, &file);
    for (size_t i = 0; i < table.symbol_count; i++)
        *array_push(profile->functions, profile->function_count, profile->function_capacity) =
            (struct function){.kind = FUNCTION_NATIVE, .start = table.symbols[i].start};
    symbol_table_free(&table);
    elf_file_close(&file);
}

static size_t count_second_entries(const struct profile *profile)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->function_count; i++) {
        const struct function *a = &profile->functions[i];
        for (size_t j = 0; a->only_inlined && j < profile->function_count; j++) {
            const struct function *b = &profile->functions[j];
            count +=
                !b->only_inlined && a->name == b->name && a->file == b->file && a->line == b->line;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *directories[16] = {NULL};
    size_t directory_count = 0;
    const char *build_id = "", *path = NULL;
    bool functions = false;
    uint64_t address;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--debug-dir=", 12) == 0 && directory_count < 15)
            directories[directory_count++] = argv[i] + 12;
        else if (strncmp(argv[i], "--build-id=", 11) == 0)
            build_id = argv[i] + 11;
        else if (strcmp(argv[i], "--functions") == 0)
            functions = true;
        else
            path = argv[i];
    }
    if (!path)
        return 2;
    struct profile *profile = profile_new();
    *array_push(profile->modules, profile->module_count, profile->module_capacity) =
        (struct module){.path = profile_intern(profile, path),
                        .build_id = profile_intern(profile, build_id)};
    while (scanf("%" SCNx64, &address) == 1)
        *array_push(profile->sites, profile->site_count, profile->site_capacity) =
            (struct site){.address = address, .location = NONE, .next = NONE};
    if (functions)
        add_functions(profile, path);
    struct symbols_options options = {.debug_dirs = directories};
    profile_symbolize(profile, &options);
    for (size_t i = 0; i < profile->site_count; i++)
        print_site(profile, &profile->sites[i]);
    static const char *const levels[] = {"unknown", "none", "dynamic", "table", "debug"};
    fprintf(stderr, "symbols: %s\nnote: %s\n", levels[profile->modules[0].symbols],
            profile_string(profile, profile->modules[0].note));
    if (functions)
        fprintf(stderr, "second entries: %zu\n", count_second_entries(profile));
    profile_free(profile);
    return 0;
}

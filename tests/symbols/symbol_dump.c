/*
 * symbol_dump.c: what profile_symbolize says about addresses, in the form of `addr2line -a -i -f`.
 *
 *     symbol-dump [--debug-dir=DIR]... [--build-id=HEX] FILE < addresses
 *
 * Addresses are hexadecimal, one a line. For each one it prints the address, then for each frame,
 * innermost first, its symbol (its name where there is no symbol) and FILE:LINE, `??:0` where
 * that is unknown. What `info` would say of the module goes to stderr.
 */
#include "common/memory.h"
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

int main(int argc, char **argv)
{
    const char *directories[16] = {NULL};
    size_t directory_count = 0;
    const char *build_id = "", *path = NULL;
    uint64_t address;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--debug-dir=", 12) == 0 && directory_count < 15)
            directories[directory_count++] = argv[i] + 12;
        else if (strncmp(argv[i], "--build-id=", 11) == 0)
            build_id = argv[i] + 11;
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
            (struct site){.address = address, .location = NONE};
    struct symbols_options options = {.debug_dirs = directories};
    profile_symbolize(profile, &options);
    for (size_t i = 0; i < profile->site_count; i++)
        print_site(profile, &profile->sites[i]);
    static const char *const levels[] = {"unknown", "none", "dynamic", "table", "debug"};
    fprintf(stderr, "symbols: %s\nnote: %s\n", levels[profile->modules[0].symbols],
            profile_string(profile, profile->modules[0].note));
    profile_free(profile);
    return 0;
}

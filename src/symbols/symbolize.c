/*
 * symbolize.c: from addresses to names, lines and inline chains, module by module.
 *
 * Where a module has debug info, all its addresses that the profile holds (functions, call sites,
 * every instruction of every block) are gathered and sorted, the files are asked about them in one go
 * (module_code.h), and the answers go into the tables. One module is open at a time.
 *
 * What always holds: addresses of one location share one entry in `locations`; the first frame of
 * a location is the function that has the code; entries of functions that contexts refer to keep
 * their places. The same profile and files give the same tables, whatever was known before.
 */
#include "symbols/symbols.h"
#include "common/memory.h"
#include "symbols/package.h"
#include "symbols/symbolize_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

/* Digit by digit, from the lowest, of those that are not the same in all. A million addresses are
 * usual: comparing them would take five times as long. */
static void sort_addresses(uint64_t *addresses, size_t count)
{
    uint64_t *from = addresses, *to = memory_allocate(count * sizeof *to), *other = to;
    uint64_t differ = 0;

    for (size_t i = 1; i < count; i++)
        differ |= addresses[i] ^ addresses[0];
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        size_t ends[DIGITS] = {0}, total = 0;
        if (!(differ >> shift & (DIGITS - 1)))
            continue;
        for (size_t i = 0; i < count; i++)
            ends[from[i] >> shift & (DIGITS - 1)]++;
        for (size_t i = 0; i < DIGITS; i++)
            ends[i] = total += ends[i];
        for (size_t i = count; i-- > 0;)
            to[--ends[from[i] >> shift & (DIGITS - 1)]] = from[i];
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != addresses)
        memcpy(addresses, from, count * sizeof *from);
    free(other);
}

static void add_address(struct work *work, uint64_t address)
{
    *array_push(work->addresses, work->address_count, work->address_capacity) = address;
}

/* Whether the profile holds any address of the module. */
static bool has_addresses(const struct profile *profile, uint32_t module)
{
    for (size_t i = 0; i < profile->function_count; i++)
        if (profile->functions[i].module == module && function_has_code(&profile->functions[i]))
            return true;
    for (size_t i = 0; i < profile->site_count; i++)
        if (profile->sites[i].module == module)
            return true;
    for (size_t i = 0; i < profile->block_count; i++)
        if (profile->blocks[i].module == module && profile->blocks[i].instructions)
            return true;
    return false;
}

static void gather_addresses(struct work *work)
{
    const struct profile *profile = work->profile;

    for (size_t i = 0; i < profile->function_count; i++)
        if (profile->functions[i].module == work->module &&
            function_has_code(&profile->functions[i]))
            add_address(work, profile->functions[i].start);
    for (size_t i = 0; i < profile->site_count; i++)
        if (profile->sites[i].module == work->module)
            add_address(work, profile->sites[i].address);
    for (size_t i = 0; i < profile->block_count; i++) {
        const struct block *block = &profile->blocks[i];
        if (block->module != work->module)
            continue;
        uint64_t address = block->address;
        for (uint32_t n = 0; n < block->instructions; n++) {
            add_address(work, address);
            address += profile->instruction_lengths[block->first_length + n];
        }
    }
    sort_addresses(work->addresses, work->address_count);
    size_t kept = 1;
    for (size_t i = 1; i < work->address_count; i++)
        if (work->addresses[i] != work->addresses[kept - 1])
            work->addresses[kept++] = work->addresses[i];
    work->address_count = kept;
}

static void locate_code(struct work *work)
{
    size_t file_count = work->code.debug.file_count;

    work->string_of_file = memory_allocate(file_count * sizeof(uint32_t));
    memset(work->string_of_file, 0xff, file_count * sizeof(uint32_t));
    symbolize_functions(work);
    if (work->code.has_debug)
        symbolize_locations(work);
}

/* Names for what has none yet: a module whose file is elsewhere, anonymous code. */
static void name_the_rest(struct profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        struct function *function = &profile->functions[i];
        if (function->kind == FUNCTION_JIT)
            function->name = symbolize_printable(profile, function->name);
        if (function->name)
            continue;
        if (function->kind == FUNCTION_ANON ||
            profile->modules[function->module].kind == MODULE_ANON)
            function->name = profile_intern(profile, "[anon]");
        else if (function->kind == FUNCTION_NATIVE)
            function->name = symbolize_name_by_address(profile, function->start);
    }
}

/* Returns what the module's files do not have, for note_missing; NULL when that is nothing, or when
 * nobody can do anything about it: the kernel's own code ([vdso]). */
static const char *symbolize_module(struct profile *profile, uint32_t module,
                                    const struct symbols_options *options)
{
    struct work work = {.profile = profile, .module = module, .empty_location = NONE};

    if (!has_addresses(profile, module))
        return NULL;
    module_code_open(&work.code, profile_string(profile, profile->modules[module].path),
                     profile_string(profile, profile->modules[module].build_id), options);
    if (work.code.wants_debug) {
        gather_addresses(&work);
        module_code_read_debug(&work.code, options, work.addresses, work.address_count);
    }
    if (work.code.found) {
        locate_code(&work);
        profile->modules[module].symbols = (uint8_t)work.code.symbols;
    } else if (profile->modules[module].symbols == SYMBOLS_UNKNOWN) {
        profile->modules[module].symbols = SYMBOLS_NONE;
    }
    profile->modules[module].note = profile_intern(profile, work.code.note ? work.code.note : "");
    bool is_file = *profile_string(profile, profile->modules[module].path) == '/';
    const char *missing = is_file ? work.code.missing : NULL;
    module_code_close(&work.code);
    free(work.addresses);
    free(work.starts);
    free(work.string_of_file);
    free(work.function_of_debug);
    pair_map_free(&work.function_at);
    pair_map_free(&work.function_named);
    pair_map_free(&work.location_of);
    return missing;
}

/* Says of each module with a text in `missing` what it lacks, and what to install if that is
 * known. */
static void note_missing(struct profile *profile, const char *const *missing, const char *database)
{
    const char **paths = memory_allocate(profile->module_count * sizeof *paths);
    char **packages = memory_allocate(profile->module_count * sizeof *packages);
    size_t count = 0;

    for (size_t i = 0; i < profile->module_count; i++)
        if (missing[i])
            paths[count++] = profile_string(profile, profile->modules[i].path);
    packages_with_debug_info(database, count, paths, packages);
    count = 0;
    for (size_t i = 0; i < profile->module_count; i++) {
        if (!missing[i])
            continue;
        char *package = packages[count++];
        char *note = package
                         ? memory_format("%s: install %s", missing[i], package)
                         : memory_format("%s: compile with -g, or give --debug-dir", missing[i]);
        profile->modules[i].note = profile_intern(profile, note);
        free(note);
        free(package);
    }
    free(paths);
    free(packages);
}

/* How many frames, from the outermost, two locations have in common. */
static uint32_t common_frames(const struct profile *profile, uint32_t one, uint32_t other)
{
    const struct location *a = &profile->locations[one], *b = &profile->locations[other];
    uint32_t count = 0;

    while (count < a->count && count < b->count &&
           profile->location_frames[a->first + count].function ==
               profile->location_frames[b->first + count].function)
        count++;
    return count;
}

/* A context that was called from several sites hangs where all of them are. Rows of a chain come
 * after the rows they go on to, so one pass in order has everything it needs. */
static void join_chained_sites(struct profile *profile)
{
    for (size_t i = 0; i < profile->site_count; i++) {
        struct site *site = &profile->sites[i];
        if (site->next == NONE || site->location == NONE)
            continue;
        uint32_t others = profile->sites[site->next].location;
        uint32_t common = others == NONE ? 0 : common_frames(profile, site->location, others);
        struct location *own = &profile->locations[site->location];
        if (common == own->count)
            continue;
        *array_push(profile->locations, profile->location_count, profile->location_capacity) =
            (struct location){.first = profile->locations[site->location].first, .count = common};
        profile->sites[i].location = (uint32_t)profile->location_count - 1;
    }
}

void profile_symbolize(struct profile *profile, const struct symbols_options *options)
{
    const char **missing = memory_allocate_zeroed(profile->module_count, sizeof *missing);
    const char *database =
        options && options->package_database ? options->package_database : PACKAGE_DATABASE;

    for (size_t i = 0; i < profile->module_count; i++)
        if (profile->modules[i].kind == MODULE_FILE && profile->modules[i].symbols != SYMBOLS_DEBUG)
            missing[i] = symbolize_module(profile, (uint32_t)i, options);
    note_missing(profile, missing, database);
    free(missing);
    join_chained_sites(profile);
    name_the_rest(profile);
    profile->meta.symbolized = 1;
}

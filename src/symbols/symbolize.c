/*
 * symbolize.c: from addresses to names, lines and inline chains, module by module.
 *
 * All addresses of a module that the profile holds (functions, call sites, every instruction of
 * every block) are gathered and sorted, the module's files are asked about them in one go
 * (module_code.h), and the answers go into the tables. One module is open at a time.
 *
 * Names. Code belongs to the symbol that covers it; what no symbol covers is called by its
 * address, `0x1234`. Functions without code of their own (inlined everywhere that matters) get an
 * entry with only_inlined. A function that one file only can see is told from its namesakes by
 * where it is declared; one that the whole program can see is known by its symbol, however the
 * paths of its headers were spelled.
 *
 * What always holds: addresses of one location share one entry in `locations`; the first frame of
 * a location is the function that has the code; entries of functions that contexts refer to keep
 * their places. The same profile and files give the same tables, whatever was known before.
 */
#include "symbols/symbols.h"
#include "common/memory.h"
#include "symbols/demangle.h"
#include "symbols/module_code.h"
#include "symbols/pair_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Real chains have some dozens of frames; a damaged file may nest as deep as it is long. */
#define LONGEST_CHAIN 1024

struct work {
    struct profile *profile;
    uint32_t module;
    struct module_code code;
    uint64_t *addresses; /* sorted, unique */
    size_t address_count, address_capacity;
    uint32_t *string_of_file;     /* by debug file: string id, or NONE */
    uint32_t *function_of_debug;  /* by debug function: its entry when it is inlined, or NONE */
    struct pair_map function_at;  /* (start, 0) to function with code */
    struct pair_map function_named; /* (symbol, file << 32 | line), 0 if external, to function */
    struct pair_map location_of;  /* (function << 32 | node, file << 32 | line) to location */
    uint32_t empty_location;      /* NONE until it is needed */
};

static bool has_code(const struct function *function)
{
    return function->kind == FUNCTION_NATIVE && !function->only_inlined;
}

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static void add_address(struct work *work, uint64_t address)
{
    *array_push(work->addresses, work->address_count, work->address_capacity) = address;
}

static void gather_addresses(struct work *work)
{
    const struct profile *profile = work->profile;

    for (size_t i = 0; i < profile->function_count; i++)
        if (profile->functions[i].module == work->module && has_code(&profile->functions[i]))
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
    if (work->address_count == 0)
        return;
    qsort(work->addresses, work->address_count, sizeof *work->addresses, compare_addresses);
    size_t kept = 1;
    for (size_t i = 1; i < work->address_count; i++)
        if (work->addresses[i] != work->addresses[kept - 1])
            work->addresses[kept++] = work->addresses[i];
    work->address_count = kept;
}

static const struct debug_answer *answer_at(const struct work *work, uint64_t address)
{
    size_t low = 0, high = work->address_count;

    if (!work->code.has_debug)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == work->address_count || work->addresses[low] != address)
        return NULL;
    return &work->code.debug.answers[low];
}

static uint32_t intern_bytes(struct profile *profile, const char *text, size_t length)
{
    char *copy = memory_format("%.*s", (int)length, text);
    uint32_t id = profile_intern(profile, copy);

    free(copy);
    return id;
}

static uint32_t intern_demangled(struct profile *profile, uint32_t symbol)
{
    char *name = demangle_symbol(profile_string(profile, symbol));
    uint32_t id = name ? profile_intern(profile, name) : symbol;

    free(name);
    return id;
}

static uint32_t file_string(struct work *work, uint32_t file)
{
    if (file == DEBUG_NONE)
        return 0;
    uint32_t *string = &work->string_of_file[file];
    if (*string == NONE)
        *string = profile_intern(work->profile, work->code.debug.files[file]);
    return *string;
}

/* The function of the source that has the code at an answer; NULL unknown. */
static const struct debug_node *outermost_node(const struct work *work,
                                               const struct debug_answer *answer)
{
    const struct debug_info *debug = &work->code.debug;

    if (!answer || answer->node == DEBUG_NONE)
        return NULL;
    uint32_t node = answer->node;
    while (debug->nodes[node].parent != DEBUG_NONE)
        node = debug->nodes[node].parent;
    return &debug->nodes[node];
}

static uint64_t declared_at(uint32_t file, uint32_t line)
{
    return (uint64_t)file << 32 | line;
}

/* Makes a function with code findable by its name, for copies of it that were inlined. */
static void register_name(struct work *work, uint32_t index, bool external)
{
    const struct function *function = &work->profile->functions[index];
    uint64_t place = external ? 0 : declared_at(function->file, function->line);
    uint32_t name = function->symbol ? function->symbol : function->name;
    uint32_t *known = pair_map_at(&work->function_named, name, place);

    if (*known == PAIR_MAP_NONE || work->profile->functions[*known].start > function->start)
        *known = index;
}

static void name_by_symbol(struct work *work, struct function *function,
                           const struct symbol *symbol)
{
    function->symbol = intern_bytes(work->profile, symbol->name, symbol->name_length);
    function->name = intern_demangled(work->profile, function->symbol);
    if (function->start == symbol->start)
        function->size = symbol->end - symbol->start;
}

static uint32_t name_by_address(struct profile *profile, uint64_t address)
{
    char text[32];

    snprintf(text, sizeof text, "0x%" PRIx64, address);
    return profile_intern(profile, text);
}

static void name_by_debug_info(struct work *work, struct function *function,
                               const struct debug_function *source)
{
    const char *symbol = source->linkage_name ? source->linkage_name : source->name;

    if (!symbol) {
        function->name = name_by_address(work->profile, function->start);
        return;
    }
    function->symbol = profile_intern(work->profile, symbol);
    function->name = intern_demangled(work->profile, function->symbol);
}

static void name_function(struct work *work, uint32_t index)
{
    struct function *function = &work->profile->functions[index];
    const struct debug_node *node = outermost_node(work, answer_at(work, function->start));
    const struct debug_function *source =
        node ? &work->code.debug.functions[node->function] : NULL;
    const struct symbol *symbol = symbol_table_find(&work->code.table, function->start);

    if (source) {
        function->file = file_string(work, source->file);
        function->line = source->line;
    }
    if (symbol)
        name_by_symbol(work, function, symbol);
    else if (source)
        name_by_debug_info(work, function, source);
    else
        function->name = name_by_address(work->profile, function->start);
    *pair_map_at(&work->function_at, function->start, 0) = index;
    register_name(work, index, source ? source->external : symbol && !symbol->local);
}

static uint32_t add_function(struct work *work, const struct function *function)
{
    *array_push(work->profile->functions, work->profile->function_count,
                work->profile->function_capacity) = *function;
    return (uint32_t)(work->profile->function_count - 1);
}

/* What a symbol table would call a function that is known from debug info: a string id, 0 when
 * that cannot be known. */
static uint32_t symbol_of_source(struct work *work, const struct debug_function *source)
{
    if (source->linkage_name)
        return profile_intern(work->profile, source->linkage_name);
    if (source->plain_names)
        return profile_intern(work->profile, source->name);
    if (source->address == DEBUG_NO_ADDRESS)
        return 0;
    const struct symbol *symbol = symbol_table_find(&work->code.table, source->address);
    if (!symbol)
        return 0;
    return intern_bytes(work->profile, symbol->name,
                        symbol_base_length(symbol->name, symbol->name_length));
}

/* The entry of a function's own code, when it has some that contexts ran; NONE otherwise. Inlined
 * constructors find theirs only in this way: they carry a symbol of their own kind. */
static uint32_t function_with_own_code(const struct work *work, const struct debug_function *source)
{
    const struct symbol *symbol = NULL;

    if (source->address != DEBUG_NO_ADDRESS)
        symbol = symbol_table_find(&work->code.table, source->address);
    return symbol ? pair_map_get(&work->function_at, symbol->start, 0) : NONE;
}

/* The entry of a function that was inlined; NONE when the debug info does not name it. */
static uint32_t inlined_function(struct work *work, uint32_t debug_function)
{
    struct profile *profile = work->profile;
    const struct debug_function *source = &work->code.debug.functions[debug_function];
    uint32_t *known = &work->function_of_debug[debug_function];

    if (*known != NONE || (!source->linkage_name && !source->name))
        return *known;
    struct function function = {
        .module = work->module,
        .kind = FUNCTION_NATIVE,
        .only_inlined = 1,
        .symbol = symbol_of_source(work, source),
        .file = file_string(work, source->file),
        .line = source->line,
    };
    if (function.symbol) {
        function.name = intern_demangled(profile, function.symbol);
    } else {
        char *name = source->scope ? memory_format("%s::%s", source->scope, source->name)
                                   : memory_duplicate_string(source->name);
        function.name = profile_intern(profile, name);
        free(name);
    }
    uint32_t own = function_with_own_code(work, source);
    if (own != NONE && profile->functions[own].name == function.name)
        return *known = own;
    uint64_t place = source->external ? 0 : declared_at(function.file, function.line);
    uint32_t *entry = pair_map_at(&work->function_named,
                                  function.symbol ? function.symbol : function.name, place);
    if (*entry == PAIR_MAP_NONE)
        *entry = add_function(work, &function);
    return *known = *entry;
}

/* The entry of the function whose code is at `address`, added when no context ran it by itself;
 * NONE when neither symbols nor debug info know of one. */
static uint32_t function_with_code(struct work *work, uint64_t address,
                                   const struct debug_answer *answer)
{
    const struct symbol *symbol = symbol_table_find(&work->code.table, address);
    const struct debug_node *node = symbol ? NULL : outermost_node(work, answer);

    if (!symbol && !node)
        return NONE;
    uint64_t start = symbol ? symbol->start : node->start;
    uint32_t known = pair_map_get(&work->function_at, start, 0);
    if (known != PAIR_MAP_NONE)
        return known;
    struct function function = {.module = work->module, .kind = FUNCTION_NATIVE, .start = start};
    uint32_t index = add_function(work, &function);
    name_function(work, index);
    return index;
}

static void add_frame(struct profile *profile, uint32_t function, uint32_t file, uint32_t line)
{
    *array_push(profile->location_frames, profile->location_frame_count,
                profile->location_frame_capacity) =
        (struct location_frame){.function = function, .file = file, .line = line};
}

/* Adds the frames of `node` and what it was inlined into. Where a function has no name, the chain
 * ends at the call of it. */
static void add_chain(struct work *work, uint32_t outermost, const struct debug_answer *answer)
{
    const struct debug_node *nodes = work->code.debug.nodes;
    uint32_t chain[LONGEST_CHAIN];
    size_t count = 0;

    for (uint32_t node = answer->node; node != DEBUG_NONE; node = nodes[node].parent) {
        if (count == LONGEST_CHAIN)
            memmove(chain, chain + 1, --count * sizeof *chain);
        chain[count++] = node;
    }
    uint32_t function = outermost;
    for (size_t i = count; i-- > 1;) {
        const struct debug_node *inner = &nodes[chain[i - 1]];
        add_frame(work->profile, function, file_string(work, inner->call_file), inner->call_line);
        function = inlined_function(work, inner->function);
        if (function == NONE)
            return;
    }
    add_frame(work->profile, function, file_string(work, answer->file), answer->line);
}

static uint32_t add_location(struct profile *profile, size_t first)
{
    *array_push(profile->locations, profile->location_count, profile->location_capacity) =
        (struct location){.first = (uint32_t)first,
                          .count = (uint32_t)(profile->location_frame_count - first)};
    return (uint32_t)(profile->location_count - 1);
}

static uint32_t location_at(struct work *work, uint64_t address)
{
    const struct debug_answer *answer = answer_at(work, address);
    uint32_t function = NONE;

    if (answer && answer->unit != DEBUG_NONE)
        function = function_with_code(work, address, answer);
    if (function == NONE) {
        if (work->empty_location == NONE)
            work->empty_location = add_location(work->profile, work->profile->location_frame_count);
        return work->empty_location;
    }
    uint32_t *known = pair_map_at(&work->location_of, (uint64_t)function << 32 | answer->node,
                                  declared_at(answer->file, answer->line));
    if (*known == PAIR_MAP_NONE) {
        size_t first = work->profile->location_frame_count;
        add_chain(work, function, answer);
        *known = add_location(work->profile, first);
    }
    return *known;
}

static void cut_block(struct work *work, struct block *block)
{
    struct profile *profile = work->profile;
    uint64_t address = block->address;

    block->first_piece = (uint32_t)profile->piece_count;
    for (uint32_t n = 0; n < block->instructions; n++) {
        uint32_t location = location_at(work, address);
        address += profile->instruction_lengths[block->first_length + n];
        struct piece *last = n ? &profile->pieces[profile->piece_count - 1] : NULL;
        if (last && last->location == location)
            last->instructions++;
        else
            *array_push(profile->pieces, profile->piece_count, profile->piece_capacity) =
                (struct piece){.location = location, .instructions = 1};
    }
    block->piece_count = (uint32_t)(profile->piece_count - block->first_piece);
}

static void locate_code(struct work *work)
{
    struct profile *profile = work->profile;
    const struct debug_info *debug = &work->code.debug;

    work->string_of_file = memory_allocate(debug->file_count * sizeof(uint32_t));
    memset(work->string_of_file, 0xff, debug->file_count * sizeof(uint32_t));
    work->function_of_debug = memory_allocate(debug->function_count * sizeof(uint32_t));
    memset(work->function_of_debug, 0xff, debug->function_count * sizeof(uint32_t));
    size_t function_count = profile->function_count;
    for (size_t i = 0; i < function_count; i++)
        if (profile->functions[i].module == work->module && has_code(&profile->functions[i]))
            name_function(work, (uint32_t)i);
    if (!work->code.has_debug)
        return;
    for (size_t i = 0; i < profile->site_count; i++)
        if (profile->sites[i].module == work->module)
            profile->sites[i].location = location_at(work, profile->sites[i].address);
    for (size_t i = 0; i < profile->block_count; i++)
        if (profile->blocks[i].module == work->module)
            cut_block(work, &profile->blocks[i]);
}

/* Names for what has none yet: a module whose file is elsewhere, anonymous code. */
static void name_the_rest(struct profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        struct function *function = &profile->functions[i];
        if (function->name)
            continue;
        if (function->kind == FUNCTION_ANON || profile->modules[function->module].kind == MODULE_ANON)
            function->name = profile_intern(profile, "[anon]");
        else if (function->kind == FUNCTION_NATIVE)
            function->name = name_by_address(profile, function->start);
    }
}

static void symbolize_module(struct profile *profile, uint32_t module,
                             const struct symbols_options *options)
{
    struct work work = {.profile = profile, .module = module, .empty_location = NONE};

    gather_addresses(&work);
    if (work.address_count == 0)
        return;
    module_code_open(&work.code, profile_string(profile, profile->modules[module].path),
                     profile_string(profile, profile->modules[module].build_id), options,
                     work.addresses, work.address_count);
    if (work.code.found) {
        locate_code(&work);
        profile->modules[module].symbols = (uint8_t)work.code.symbols;
    } else if (profile->modules[module].symbols == SYMBOLS_UNKNOWN) {
        profile->modules[module].symbols = SYMBOLS_NONE;
    }
    profile->modules[module].note = profile_intern(profile, work.code.note ? work.code.note : "");
    module_code_close(&work.code);
    free(work.addresses);
    free(work.string_of_file);
    free(work.function_of_debug);
    pair_map_free(&work.function_at);
    pair_map_free(&work.function_named);
    pair_map_free(&work.location_of);
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
    for (size_t i = 0; i < profile->module_count; i++)
        if (profile->modules[i].kind == MODULE_FILE && profile->modules[i].symbols != SYMBOLS_DEBUG)
            symbolize_module(profile, (uint32_t)i, options);
    join_chained_sites(profile);
    name_the_rest(profile);
    profile->meta.symbolized = 1;
}

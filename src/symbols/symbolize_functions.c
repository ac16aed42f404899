/*
 * symbolize_functions.c: the function table: what functions are called, and which entry is whose.
 *
 * Code belongs to the symbol that covers it; what no symbol covers is called by its address,
 * `0x1234`. Functions without code of their own (inlined everywhere that matters) get an entry
 * with only_inlined. A function that one file only can see is told from its namesakes by where it
 * is declared; one that the whole program can see is known by its symbol, however the paths of its
 * headers were spelled.
 */
#include "symbols/symbolize_work.h"
#include "common/memory.h"
#include "symbols/demangle.h"
#include "symbols/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct debug_answer *symbolize_answer_at(const struct work *work, uint64_t address)
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

/* Names come from files that may hold anything; those who show them can rely on UTF-8 without
 * control characters. */
static uint32_t intern_bytes(struct profile *profile, const char *text, size_t length)
{
    char *copy = memory_allocate(length + 1);

    memcpy(copy, text, length);
    copy[length] = '\0';
    text_make_printable(copy);
    uint32_t id = profile_intern(profile, copy);
    free(copy);
    return id;
}

static uint32_t intern_text(struct profile *profile, const char *text)
{
    return intern_bytes(profile, text, strlen(text));
}

uint32_t symbolize_printable(struct profile *profile, uint32_t name)
{
    return name ? intern_text(profile, profile_string(profile, name)) : 0;
}

static uint32_t intern_demangled(struct profile *profile, uint32_t symbol)
{
    char *name = demangle_symbol(profile_string(profile, symbol));
    uint32_t id = name ? intern_text(profile, name) : symbol;

    free(name);
    return id;
}

uint32_t symbolize_file_string(struct work *work, uint32_t file)
{
    if (file == DEBUG_NONE)
        return 0;
    uint32_t *string = &work->string_of_file[file];
    if (*string == NONE)
        *string = intern_text(work->profile, work->code.debug.files[file]);
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
    if (function->start == symbol->start && symbol->end > symbol->start)
        function->size = symbol->end - symbol->start;
}

uint32_t symbolize_name_by_address(struct profile *profile, uint64_t address)
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
        function->name = symbolize_name_by_address(work->profile, function->start);
        return;
    }
    function->symbol = intern_text(work->profile, symbol);
    function->name = intern_demangled(work->profile, function->symbol);
}

static void name_function(struct work *work, uint32_t index)
{
    struct function *function = &work->profile->functions[index];
    const struct debug_node *node =
        outermost_node(work, symbolize_answer_at(work, function->start));
    const struct debug_function *source = node ? &work->code.debug.functions[node->function] : NULL;
    const struct symbol *symbol = symbol_table_find_start(&work->code.table, function->start);

    if (source) {
        function->file = symbolize_file_string(work, source->file);
        function->line = source->line;
    }
    if (symbol)
        name_by_symbol(work, function, symbol);
    else if (source)
        name_by_debug_info(work, function, source);
    else if (!function->name)
        function->name = symbolize_name_by_address(work->profile, function->start);
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
        return intern_text(work->profile, source->linkage_name);
    if (source->plain_names)
        return intern_text(work->profile, source->name);
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

uint32_t symbolize_inlined_function(struct work *work, uint32_t debug_function)
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
        .file = symbolize_file_string(work, source->file),
        .line = source->line,
    };
    if (function.symbol) {
        function.name = intern_demangled(profile, function.symbol);
    } else {
        char *name = source->scope ? memory_format("%s::%s", source->scope, source->name)
                                   : memory_duplicate_string(source->name);
        function.name = intern_text(profile, name);
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

/* Of the functions that contexts ran, the last that starts at or before `address`. */
static uint32_t function_before(const struct work *work, uint64_t address)
{
    size_t low = 0, high = work->start_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->profile->functions[work->starts[middle]].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? work->starts[low - 1] : NONE;
}

uint32_t symbolize_function_with_code(struct work *work, uint64_t address,
                                      const struct debug_answer *answer)
{
    const struct symbol *symbol = symbol_table_find(&work->code.table, address);
    const struct debug_node *node = symbol ? NULL : outermost_node(work, answer);

    if (!symbol && !node)
        return NONE;
    uint32_t nearest = function_before(work, address);
    if (nearest != NONE &&
        symbol_table_find(&work->code.table, work->profile->functions[nearest].start) == symbol)
        return nearest;
    uint64_t start = symbol ? symbol->start : node->start;
    uint32_t known = pair_map_get(&work->function_at, start, 0);
    if (known != PAIR_MAP_NONE)
        return known;
    struct function function = {.module = work->module, .kind = FUNCTION_NATIVE, .start = start};
    uint32_t index = add_function(work, &function);
    name_function(work, index);
    return index;
}

static int compare_starts(const void *left, const void *right, void *opaque)
{
    const struct function *functions = opaque;

    uint64_t a = functions[*(const uint32_t *)left].start;
    uint64_t b = functions[*(const uint32_t *)right].start;

    return a < b ? -1 : a > b;
}

void symbolize_functions(struct work *work)
{
    struct profile *profile = work->profile;
    size_t debug_function_count = work->code.debug.function_count;

    work->function_of_debug = memory_allocate(debug_function_count * sizeof(uint32_t));
    memset(work->function_of_debug, 0xff, debug_function_count * sizeof(uint32_t));
    for (size_t i = 0; i < profile->function_count; i++)
        if (profile->functions[i].module == work->module &&
            function_has_code(&profile->functions[i]))
            *array_push(work->starts, work->start_count, work->start_capacity) = (uint32_t)i;
    for (size_t i = 0; i < work->start_count; i++)
        name_function(work, work->starts[i]);
    if (work->start_count)
        qsort_r(work->starts, work->start_count, sizeof *work->starts, compare_starts,
                profile->functions);
}

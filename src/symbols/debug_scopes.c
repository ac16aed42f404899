/*
 * debug_scopes.c: namespaces and classes for functions whose symbol is nowhere to be found.
 *
 * C++ functions that only one file can see (static, in an unnamed namespace, lambdas) have no
 * DW_AT_linkage_name when GCC compiled them. One that was inlined everywhere has no symbol either,
 * and `operator()` alone says little. Entries do not point to their parents, so the unit is walked
 * once more, now through all its scopes, until every function wanted was met.
 */
#include "symbols/debug_reader.h"
#include "common/memory.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

static bool is_scope(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

static const char *scope_name(Dwarf_Die *die, const char *function)
{
    const char *name = dwarf_diename(die);

    if (name)
        return name;
    if (dwarf_tag(die) == DW_TAG_namespace)
        return "(anonymous namespace)";
    /* Only a lambda's class has no name and can be called. */
    return function && strcmp(function, "operator()") == 0 ? "{lambda}" : "{unnamed}";
}

/* The names of the scopes around the entry at hand, that of `function`, joined by "::"; NULL at
 * the top. */
static char *join_scopes(struct debug_reader *reader, const char *function)
{
    char *joined = NULL;

    for (size_t i = 0; i + 1 < reader->level_count; i++) {
        Dwarf_Die *die = &reader->levels[i].die;
        if (!is_scope(dwarf_tag(die)))
            continue;
        const char *name = scope_name(die, function);
        char *longer =
            joined ? memory_format("%s::%s", joined, name) : memory_duplicate_string(name);
        free(joined);
        joined = longer;
        if (!debug_spend(reader, strlen(joined)))
            break;
    }
    return joined;
}

static void meet(struct debug_info *info, Dwarf_Die *die)
{
    struct debug_reader *reader = info->reader;
    uint32_t wanted = pair_map_get(&reader->scope_wanted, (uintptr_t)die->addr, 0);

    if (wanted == DEBUG_NONE)
        return;
    struct debug_function *function = &info->functions[wanted];
    if (!function->scope)
        function->scope = join_scopes(reader, function->name);
    *pair_map_at(&reader->scope_wanted, (uintptr_t)die->addr, 0) = DEBUG_NONE;
    reader->scopes_wanted--;
}

int debug_find_scopes(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;
    int status = debug_walk_start(reader);

    while (status == OK && reader->level_count && reader->scopes_wanted) {
        Dwarf_Die *die = &reader->levels[reader->level_count - 1].die;
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_invalid)
            return ERROR;
        if (tag == DW_TAG_subprogram)
            meet(info, die);
        if (is_scope(tag) || tag == DW_TAG_lexical_block)
            status = debug_walk_enter(reader, DEBUG_NONE);
        else
            status = debug_walk_advance(reader);
    }
    return status;
}

/*
 * debug_scopes.c: namespaces and classes for functions whose symbol is nowhere to be found.
 *
 * C++ functions that only one file can see (static, in an unnamed namespace, lambdas) have no
 * DW_AT_linkage_name when GCC compiled them. One that was inlined everywhere has no symbol either,
 * and `operator()` alone says little. Entries do not point to their parents, so the unit that
 * declares such functions (not always the one with the code: link-time optimisation makes new
 * ones) is walked once more, now through all its scopes, until every function wanted was met.
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

/* `operator()`, or what a lambda with `auto` parameters has for some types of theirs. */
static bool is_call_operator(Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    size_t length = strlen("operator()");

    return name && strncmp(name, "operator()", length) == 0 &&
           (name[length] == '\0' || name[length] == '<');
}

/* `inner` is the scope or the function in it that is on the way. */
static const char *scope_name(Dwarf_Die *die, Dwarf_Die *inner)
{
    const char *name = dwarf_diename(die);

    if (name)
        return name;
    if (dwarf_tag(die) == DW_TAG_namespace)
        return "(anonymous namespace)";
    /* Only a lambda's class has no name and can be called. */
    return is_call_operator(inner) ? "{lambda}" : "{unnamed}";
}

/* The names of the scopes around the entry at hand, joined by "::"; NULL at the top. */
static char *join_scopes(struct debug_reader *reader)
{
    char *joined = NULL;

    for (size_t i = 0; i + 1 < reader->level_count; i++) {
        Dwarf_Die *die = &reader->levels[i].die;
        if (!is_scope(dwarf_tag(die)))
            continue;
        const char *name = scope_name(die, &reader->levels[i + 1].die);
        char *longer =
            joined ? memory_format("%s::%s", joined, name) : memory_duplicate_string(name);
        free(joined);
        joined = longer;
        if (!debug_spend(reader, strlen(joined)))
            break;
    }
    return joined;
}

void debug_want_scope(struct debug_reader *reader, const Dwarf_Die *declaration, uint32_t function)
{
    uint32_t *count = pair_map_at(&reader->scopes_in_unit, (uintptr_t)declaration->cu, 0);

    if (*count == PAIR_MAP_NONE) {
        *count = 0;
        *array_push(reader->scope_units, reader->scope_unit_count, reader->scope_unit_capacity) =
            declaration->cu;
    }
    ++*count;
    *pair_map_at(&reader->scope_wanted, (uintptr_t)declaration->addr, 0) = function;
}

/* Whether the entry declares a function whose scope is wanted, which is then known. */
static bool meet(struct debug_info *info, Dwarf_Die *die)
{
    struct debug_reader *reader = info->reader;
    uint32_t wanted = pair_map_get(&reader->scope_wanted, (uintptr_t)die->addr, 0);

    if (wanted == PAIR_MAP_NONE || info->functions[wanted].scope)
        return false;
    info->functions[wanted].scope = join_scopes(reader);
    return true;
}

/* `wanted` is how many functions there are to be met; a damaged unit is left where that shows. */
static void walk_scopes(struct debug_info *info, uint32_t wanted)
{
    struct debug_reader *reader = info->reader;
    int status = debug_walk_start(reader);

    while (status == OK && reader->level_count && wanted) {
        Dwarf_Die *die = &reader->levels[reader->level_count - 1].die;
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_invalid)
            return;
        if (tag == DW_TAG_subprogram && meet(info, die))
            wanted--;
        if (is_scope(tag) || tag == DW_TAG_lexical_block)
            status = debug_walk_enter(reader, DEBUG_NONE);
        else
            status = debug_walk_advance(reader);
    }
}

void debug_find_scopes(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;

    for (size_t i = 0; i < reader->scope_unit_count && reader->steps_left >= 0; i++) {
        Dwarf_CU *unit = reader->scope_units[i];
        if (dwarf_cu_die(unit, &reader->tree_die, NULL, NULL, NULL, NULL, NULL, NULL))
            walk_scopes(info, pair_map_get(&reader->scopes_in_unit, (uintptr_t)unit, 0));
    }
}

/*
 * debug_walk.c: the walk over a unit's entries.
 *
 * Only entries that can hold code are entered: scopes, functions that hold an address asked for,
 * and their blocks and inlined copies.
 *
 * A function's identity is the entry that declares it. Its abstract instance, its copies and its
 * definition outside of a class all lead there by DW_AT_abstract_origin and DW_AT_specification.
 */
#include "symbols/debug_reader.h"
#include "common/memory.h"

#include <dwarf.h>
#include <string.h>

/* Real chains of references have at most three links; cycles have no end. */
#define LONGEST_REFERENCE_CHAIN 16

/* Entries nest some dozens deep in real files. Stepping over an entry may mean going through all
 * below it once more, so depth multiplies the cost; beyond this, the whole file is charged. */
#define UNUSUAL_DEPTH 200

enum visit {
    VISIT_DAMAGED = -1,
    VISIT_SKIP,
    VISIT_ENTER,
};

static bool follow_reference(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute memory;
    Dwarf_Die target;

    if (!dwarf_attr(die, attribute, &memory) || !dwarf_formref_die(&memory, &target))
        return false;
    *die = target;
    return true;
}

static const char *text_attribute(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute memory;
    const char *text = dwarf_formstring(dwarf_attr_integrate(die, attribute, &memory));

    return text && *text ? text : NULL;
}

static uint32_t number_attribute(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute memory;
    Dwarf_Word value;

    if (dwarf_formudata(dwarf_attr(die, attribute, &memory), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* File number `index` of the unit that `unit_die` heads. (dwarf_decl_file would do the same for
 * declarations, but stops the program when a unit's table is missing.) */
static uint32_t file_of_index(struct debug_info *info, Dwarf_Die *unit_die, Dwarf_Word index)
{
    Dwarf_Files *files;
    size_t count;

    if (dwarf_getsrcfiles(unit_die, &files, &count) != 0 || index >= count)
        return DEBUG_NONE;
    return debug_file(info, dwarf_filesrc(files, index, NULL, NULL), unit_die);
}

static uint32_t declaring_file(struct debug_info *info, Dwarf_Die *die)
{
    Dwarf_Attribute memory;
    Dwarf_Die unit_die;
    Dwarf_Word index;

    if (!dwarf_attr_integrate(die, DW_AT_decl_file, &memory) ||
        dwarf_formudata(&memory, &index) != 0 || index == 0 ||
        !dwarf_cu_die(memory.cu, &unit_die, NULL, NULL, NULL, NULL, NULL, NULL))
        return DEBUG_NONE;
    return file_of_index(info, &unit_die, index);
}

static struct debug_function describe_function(struct debug_info *info, Dwarf_Die *die)
{
    struct debug_function function = {.address = DEBUG_NO_ADDRESS};
    Dwarf_Attribute memory;
    bool flag = false;
    int line = 0;

    function.linkage_name = text_attribute(die, DW_AT_linkage_name);
    if (!function.linkage_name)
        function.linkage_name = text_attribute(die, DW_AT_MIPS_linkage_name);
    function.name = text_attribute(die, DW_AT_name);
    function.plain_names = !info->reader->mangles;
    dwarf_formflag(dwarf_attr_integrate(die, DW_AT_external, &memory), &flag);
    function.external = flag;
    if (dwarf_decl_line(die, &line) == 0 && line > 0)
        function.line = (uint32_t)line;
    function.file = declaring_file(info, die);
    return function;
}

uint32_t debug_function_of(struct debug_info *info, Dwarf_Die *die)
{
    struct debug_reader *reader = info->reader;
    Dwarf_Die declaration = *die;

    for (int links = 0; links < LONGEST_REFERENCE_CHAIN; links++)
        if (!follow_reference(&declaration, DW_AT_abstract_origin) &&
            !follow_reference(&declaration, DW_AT_specification))
            break;
    uint32_t known = *pair_map_at(&reader->function_of_die, (uintptr_t)declaration.addr, 0);
    if (known != DEBUG_NONE)
        return known;
    uint32_t function = (uint32_t)info->function_count;
    *array_push(info->functions, info->function_count, info->function_capacity) =
        describe_function(info, die);
    *pair_map_at(&reader->function_of_die, (uintptr_t)declaration.addr, 0) = function;
    if (reader->mangles && !info->functions[function].linkage_name)
        debug_want_scope(reader, &declaration, function);
    return function;
}

/* Writes `node` where `expected` stands; how many answers that were. */
static size_t write_node(struct debug_info *info, uint32_t node, uint32_t expected)
{
    struct debug_reader *reader = info->reader;
    size_t written = 0;

    for (size_t i = 0; i < reader->interval_count; i++) {
        struct interval interval = reader->intervals[i];
        if (!debug_spend(reader, interval.last - interval.first))
            return 0;
        for (size_t at = interval.first; at < interval.last; at++) {
            struct debug_answer *answer = &info->answers[at];
            if (answer->node != expected ||
                (answer->unit != DEBUG_NONE && answer->unit != reader->unit))
                continue;
            answer->node = node;
            answer->unit = reader->unit;
            written++;
        }
    }
    return written;
}

static enum visit add_node(struct debug_info *info, Dwarf_Die *die, uint32_t parent, uint32_t *node)
{
    struct debug_node new = {.parent = parent, .call_file = DEBUG_NONE};
    uint32_t number = (uint32_t)info->node_count;

    if (write_node(info, number, parent) == 0)
        return VISIT_SKIP;
    new.function = debug_function_of(info, die);
    dwarf_entrypc(die, &new.start);
    if (parent != DEBUG_NONE) {
        new.call_line = number_attribute(die, DW_AT_call_line);
        if (dwarf_hasattr(die, DW_AT_call_file))
            new.call_file = file_of_index(info, &info->reader->unit_die,
                                          number_attribute(die, DW_AT_call_file));
    }
    *array_push(info->nodes, info->node_count, info->node_capacity) = new;
    *node = number;
    return VISIT_ENTER;
}

/* Remembers where a function that is also inlined has code of its own: the symbol there has its
 * full name, which C++ functions of one file do not carry in the debug info. */
static void note_own_code(struct debug_info *info, Dwarf_Die *die)
{
    Dwarf_Addr entry;

    if (!info->reader->mangles || !dwarf_hasattr(die, DW_AT_abstract_origin) ||
        dwarf_entrypc(die, &entry) != 0 || !elf_file_code_at(info->reader->file, entry))
        return;
    uint32_t function = debug_function_of(info, die);
    if (info->functions[function].address == DEBUG_NO_ADDRESS)
        info->functions[function].address = entry;
}

static enum visit visit_function(struct debug_info *info, Dwarf_Die *die, uint32_t *node)
{
    bool has_ranges;

    if (debug_find_intervals(info->reader, die, &has_ranges) != OK)
        return VISIT_DAMAGED;
    *node = DEBUG_NONE;
    /* What has no code itself may hold functions that do: those nested in a function that was
     * inlined everywhere. */
    if (!has_ranges)
        return VISIT_ENTER;
    note_own_code(info, die);
    if (info->reader->interval_count == 0)
        return VISIT_SKIP;
    return add_node(info, die, DEBUG_NONE, node);
}

static enum visit visit_inlined(struct debug_info *info, Dwarf_Die *die, uint32_t *node)
{
    bool has_ranges;

    if (*node == DEBUG_NONE)
        return VISIT_SKIP;
    if (debug_find_intervals(info->reader, die, &has_ranges) != OK)
        return VISIT_DAMAGED;
    if (info->reader->interval_count == 0)
        return VISIT_SKIP;
    return add_node(info, die, *node, node);
}

/* `*node` is what the entry is inside of, and becomes what its children are inside of. */
static enum visit visit(struct debug_info *info, Dwarf_Die *die, uint32_t *node)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_invalid:
        return VISIT_DAMAGED;
    case DW_TAG_subprogram:
        return visit_function(info, die, node);
    case DW_TAG_inlined_subroutine:
        return visit_inlined(info, die, node);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
        return VISIT_ENTER;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return info->reader->has_types_with_code ? VISIT_ENTER : VISIT_SKIP;
    default:
        return VISIT_SKIP;
    }
}

int debug_walk_start(struct debug_reader *reader)
{
    Dwarf_Die child;
    int status = dwarf_child(&reader->tree_die, &child);

    reader->level_count = 0;
    if (status == 0)
        *array_push(reader->levels, reader->level_count, reader->level_capacity) =
            (struct level){.die = child, .node = DEBUG_NONE};
    return status < 0 ? ERROR : OK;
}

int debug_walk_enter(struct debug_reader *reader, uint32_t node)
{
    Dwarf_Die child;
    int status = dwarf_child(&reader->levels[reader->level_count - 1].die, &child);

    if (status < 0)
        return ERROR;
    if (status > 0)
        return debug_walk_advance(reader);
    if (!debug_spend(reader, 1))
        return ERROR;
    *array_push(reader->levels, reader->level_count, reader->level_capacity) =
        (struct level){.die = child, .node = node};
    return OK;
}

int debug_walk_advance(struct debug_reader *reader)
{
    while (reader->level_count) {
        struct level *top = &reader->levels[reader->level_count - 1];
        Dwarf_Die next;
        if (reader->level_count > UNUSUAL_DEPTH && !debug_spend(reader, reader->file_bytes))
            return ERROR;
        int status = dwarf_siblingof(&top->die, &next);
        if (status < 0)
            return ERROR;
        if (status == 0) {
            if (!debug_spend(reader, (uint64_t)((char *)next.addr - (char *)top->die.addr)))
                return ERROR;
            top->die = next;
            return OK;
        }
        reader->level_count--;
    }
    return OK;
}

int debug_walk_unit(struct debug_info *info)
{
    struct debug_reader *reader = info->reader;
    int status = debug_walk_start(reader);

    while (status == OK && reader->level_count) {
        struct level *top = &reader->levels[reader->level_count - 1];
        uint32_t node = top->node;
        switch (visit(info, &top->die, &node)) {
        case VISIT_DAMAGED:
            return ERROR;
        case VISIT_ENTER:
            status = debug_walk_enter(reader, node);
            break;
        case VISIT_SKIP:
            status = debug_walk_advance(reader);
            break;
        }
    }
    return status;
}

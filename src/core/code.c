#include "core/code.h"
#include "core/elf_functions.h"
#include "core/grow.h"
#include "core/jit.h"
#include "core/platform.h"
#include "core/python.h"
#include "core/stack.h"
#include "core/text.h"

void code_map_init(struct code_map *map)
{
    *map = (struct code_map){0};
    map->anonymous = platform_allocate(sizeof *map->anonymous);
    *map->anonymous = (struct code_module){
        .path = "[anon]", .kind = CODE_ANONYMOUS, .live = true, .raw_id = CODE_NO_ID};
    map->markers = platform_allocate(sizeof *map->markers);
    *map->markers =
        (struct code_module){.path = "", .kind = CODE_MARKER, .live = true, .raw_id = CODE_NO_ID};
    map->markers->next = map->anonymous;
    map->modules = map->markers;
}

/* ---- modules ---- */

static void live_insert(struct code_map *map, struct code_module *module)
{
    GROW(map->live, map->live_count, map->live_capacity, 64);
    size_t at = map->live_count++;
    for (; at > 0 && map->live[at - 1]->start > module->start; at--)
        map->live[at] = map->live[at - 1];
    map->live[at] = module;
    module->live = true;
}

/* A library is often mapped whole, as its code is to be, and its data then over the end of that:
 * what is left of a module stays. False: nothing is. */
static bool cut_module(struct code_module *module, uint64_t start, uint64_t end)
{
    if (start >= module->end || end <= module->start)
        return true;
    if (start > module->start)
        module->end = start;
    else if (end < module->end)
        module->start = end;
    else
        return false;
    return true;
}

void code_map_remove(struct code_map *map, uint64_t start, uint64_t end)
{
    size_t kept = 0;

    for (size_t i = 0; i < map->live_count; i++) {
        struct code_module *module = map->live[i];
        if (cut_module(module, start, end))
            map->live[kept++] = module;
        else
            module->live = false;
    }
    map->live_count = kept;
    map->last = NULL;
    if (map->jit)
        jit_remove(map->jit, start, end);
}

/* A library that is closed and opened again at the same place is the same module. */
static struct code_module *find_earlier(struct code_map *map, const char *path, uint64_t start,
                                        uint64_t bias, const char *build_id)
{
    for (struct code_module *module = map->modules; module; module = module->next)
        if (module->kind == CODE_FILE && module->start == start && module->bias == bias &&
            text_equal(module->path, path) && text_equal(module->build_id, build_id))
            return module;
    return NULL;
}

struct code_module *code_map_add_image(struct code_map *map, const char *path, const uint8_t *image,
                                       size_t size_bytes, uint64_t start, uint64_t end,
                                       uint64_t bias)
{
    struct code_module *module = platform_allocate(sizeof *module);

    code_map_remove(map, start, end);
    *module = (struct code_module){
        .kind = CODE_FILE,
        .raw_id = CODE_NO_ID,
        .start = start,
        .end = end,
        .bias = bias,
    };
    elf_read_functions(module, image, size_bytes);
    module->python = python_recognise(module, image, size_bytes);
    module->swapper = elf_find_code(image, size_bytes, stack_find_swapper);
    if (map->jit && !map->jit->hotspot)
        map->jit->hotspot = hotspot_recognise(image, size_bytes, bias);
    struct code_module *earlier = find_earlier(map, path, start, bias, module->build_id);
    if (earlier && earlier->build_id[0]) {
        earlier->end = end;
        live_insert(map, earlier);
        return earlier;
    }
    module->path = text_keep(path);
    module->next = map->modules;
    map->modules = module;
    live_insert(map, module);
    return module;
}

struct code_module *code_map_add_file(struct code_map *map, const char *path, uint64_t start,
                                      uint64_t end, uint64_t file_offset)
{
    const uint8_t *image = NULL;
    size_t size_bytes = 0;
    uint64_t bias = start - file_offset;
    uint64_t address_minus_offset;

    /* The same mapping, told a second time: nothing to read again. */
    for (size_t i = 0; i < map->live_count; i++)
        if (map->live[i]->start == start && map->live[i]->end == end &&
            text_equal(map->live[i]->path, path))
            return map->live[i];
    if (map->jit && jit_is_dump(path))
        jit_dump_mapped(map->jit, path);
    bool mapped = platform_map_file(path, &image, &size_bytes);
    if (mapped && elf_find_segment(image, size_bytes, file_offset, &address_minus_offset))
        bias = start - file_offset - address_minus_offset;
    struct code_module *module = code_map_add_image(map, path, image, size_bytes, start, end, bias);
    if (mapped)
        platform_unmap_file(image, size_bytes);
    return module;
}

static struct code_module *find_module(struct code_map *map, uint64_t address)
{
    if (map->last && address >= map->last->start && address < map->last->end)
        return map->last;
    size_t low = 0, high = map->live_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map->live[middle]->end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == map->live_count || map->live[low]->start > address)
        return NULL;
    return map->last = map->live[low];
}

/* ---- functions ---- */

/* The last range that starts at or below `address`, or -1. */
static ptrdiff_t range_below(const struct code_module *module, uint64_t address)
{
    size_t low = 0, high = module->range_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (module->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

static void range_insert(struct code_module *module, ptrdiff_t after, struct code_range range)
{
    GROW(module->ranges, module->range_count, module->range_capacity, 64);
    for (size_t i = module->range_count++; i > (size_t)(after + 1); i--)
        module->ranges[i] = module->ranges[i - 1];
    module->ranges[after + 1] = range;
}

/* The range is perhaps a part of a function that was split. It is decided once, when it is first
 * looked at and nothing of it was translated, by the code of both: so it does not matter who looks.
 * Parts of parts are as deep as the file says: it is not followed far. */
static void decide_part(struct code_module *module, struct code_range *range, unsigned depth)
{
    struct code_function *part = range->function;

    if (!part || !(part->flags & CODE_FUNCTION_PERHAPS_PART))
        return;
    part->flags &= ~CODE_FUNCTION_PERHAPS_PART;
    ptrdiff_t below = range_below(module, part->after);
    if (below < 0 || depth > 3)
        return;
    struct code_range *whole = &module->ranges[below];
    if (part->after >= whole->end || !whole->function || whole == range)
        return;
    decide_part(module, whole, depth + 1);
    struct platform_stretch of = {whole->start + module->bias, whole->end + module->bias};
    struct platform_stretch code = {range->start + module->bias, range->end + module->bias};
    bool in_mid_frame = part->flags & CODE_FUNCTION_GUESSED;
    if (!platform_is_part(of, code, in_mid_frame))
        return;
    range->function = whole->function;
    range->own = in_mid_frame ? NULL : part;
}

/* The range that has the address; -1 for none. */
static ptrdiff_t range_with(struct code_module *module, uint64_t address)
{
    ptrdiff_t below = range_below(module, address);

    if (below < 0 || address >= module->ranges[below].end)
        return -1;
    decide_part(module, &module->ranges[below], 0);
    return below;
}

/* A function starts at `address`, where no range is: it reaches to the next range, or to the end
 * of the module. What lay below and reached up to here, ends here. */
static struct code_function *discover(struct code_module *module, uint64_t address, ptrdiff_t below)
{
    struct code_function *function = platform_allocate(sizeof *function);
    uint64_t end = module->end - module->bias;

    if ((size_t)(below + 1) < module->range_count)
        end = module->ranges[below + 1].start;
    *function = (struct code_function){.module = module,
                                       .start = address,
                                       .end = end,
                                       .flags = CODE_FUNCTION_GUESSED,
                                       .raw_id = CODE_NO_ID};
    range_insert(module, below,
                 (struct code_range){.start = address, .end = end, .function = function});
    platform_function_found(address + module->bias, end + module->bias);
    return function;
}

static struct code_place place_of_range(struct code_module *module, const struct code_range *range)
{
    return (struct code_place){
        .module = module,
        .function = range->function,
        .plt = !range->function,
        .start = range->start + module->bias,
        .end = range->end + module->bias,
    };
}

static struct code_place anonymous_place(struct code_map *map, uint64_t address)
{
    struct code_function *function = map->jit ? jit_find(map->jit, address) : NULL;

    if (!function)
        return (struct code_place){.module = map->anonymous};
    return (struct code_place){
        .module = function->module,
        .function = function,
        .start = function->start,
        .end = function->end,
    };
}

struct code_place code_map_peek(struct code_map *map, uint64_t address)
{
    struct code_module *module = find_module(map, address);

    if (!module)
        return anonymous_place(map, address);
    uint64_t inside = address - module->bias;
    ptrdiff_t at = range_with(module, inside);
    if (at >= 0)
        return place_of_range(module, &module->ranges[at]);
    return (struct code_place){.module = module};
}

struct code_place code_map_find(struct code_map *map, uint64_t address)
{
    struct code_place place = code_map_peek(map, address);

    if (place.function || place.plt || place.module == map->anonymous)
        return place;
    uint64_t inside = address - place.module->bias;
    ptrdiff_t below = range_below(place.module, inside);
    discover(place.module, inside, below);
    return place_of_range(place.module, &place.module->ranges[below + 1]);
}

struct code_place code_map_translate(struct code_map *map, uint64_t address)
{
    if (map->jit && !find_module(map, address)) {
        jit_look(map->jit);
        jit_look_for(map->jit, address);
    }
    return code_map_find(map, address);
}

void code_map_translated(struct code_map *map, const struct code_place *place, uint64_t address,
                         const uint8_t *bytes, size_t count)
{
    if (!map->jit || (place->module->kind != CODE_ANONYMOUS && place->module->kind != CODE_JIT))
        return;
    jit_translated(map->jit, address);
    if (!place->function && jit_unnamed_changed(map->jit, address, bytes, count))
        code_map_forget_called(map, address, address + 1);
}

static size_t called_slot(const struct code_map *map, uint64_t address)
{
    size_t at = (address * 0x9e3779b97f4a7c15u >> 20) & (map->called_capacity - 1);

    while (map->called_anonymous[at] && map->called_anonymous[at]->start != address)
        at = (at + 1) & (map->called_capacity - 1);
    return at;
}

void code_map_forget_called(struct code_map *map, uint64_t start, uint64_t end)
{
    if (end - start == 1 && map->called_capacity) {
        struct code_function *function = map->called_anonymous[called_slot(map, start)];
        if (function)
            function->flags |= CODE_FUNCTION_GONE;
        return;
    }
    for (size_t i = 0; i < map->called_capacity; i++) {
        struct code_function *function = map->called_anonymous[i];
        if (function && function->start >= start && function->start < end)
            function->flags |= CODE_FUNCTION_GONE;
    }
}

static struct code_function *called_anonymous(struct code_map *map, uint64_t address)
{
    if (2 * map->called_count >= map->called_capacity) {
        size_t capacity = map->called_capacity ? 2 * map->called_capacity : 256;
        struct code_function **slots = platform_allocate(capacity * sizeof *slots);
        for (size_t i = 0; i < map->called_capacity; i++) {
            struct code_function *function = map->called_anonymous[i];
            if (!function)
                continue;
            size_t at = (function->start * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);
            while (slots[at])
                at = (at + 1) & (capacity - 1);
            slots[at] = function;
        }
        platform_release(map->called_anonymous, map->called_capacity * sizeof *slots);
        map->called_anonymous = slots;
        map->called_capacity = capacity;
    }
    size_t at = called_slot(map, address);
    struct code_function *known = map->called_anonymous[at];
    if (known && !(known->flags & CODE_FUNCTION_GONE))
        return known;
    uint64_t since = map->jit ? jit_block_since(map->jit, address) : 0;
    struct code_function *function = platform_allocate(sizeof *function);
    *function = (struct code_function){
        .module = map->anonymous,
        .start = address,
        .end = address,
        .flags = CODE_FUNCTION_ANONYMOUS,
        .raw_id = CODE_NO_ID,
        .time = since ? since : platform_clock(),
    };
    map->called_count += !known;
    return map->called_anonymous[at] = function;
}

/* A called address inside a function that was only guessed at (its extent reaches as far as
 * nothing else is known) cuts it in two. A call into the middle of a function that has a symbol
 * is a call to that function. */
static struct code_function *cut_guess(struct code_module *module, ptrdiff_t below,
                                       uint64_t address)
{
    struct code_range *range = &module->ranges[below];
    struct code_function *function = platform_allocate(sizeof *function);
    uint64_t end = range->end;

    *function = (struct code_function){
        .module = module, .start = address, .end = end, .raw_id = CODE_NO_ID};
    function->flags = range->function->flags;
    range->end = address;
    range->function->end = address;
    range_insert(module, below,
                 (struct code_range){.start = address, .end = end, .function = function});
    platform_function_found(address + module->bias, end + module->bias);
    return function;
}

/* What was taken for a part of another function is called: it is one itself. */
static struct code_function *is_no_part(struct code_module *module, struct code_range *range)
{
    const struct code_function *whole = range->function;

    range->function = range->own;
    range->own = NULL;
    platform_function_found(range->start + module->bias, range->end + module->bias);
    /* Its jumps there are none inside it any more. */
    platform_function_found(whole->start + module->bias, whole->end + module->bias);
    return range->function;
}

void code_map_is_part(struct code_module *module, uint64_t address, struct code_function *whole)
{
    uint64_t inside = address - module->bias;
    ptrdiff_t below = range_below(module, inside);
    struct code_range *range = &module->ranges[below];
    uint64_t end = range->end;

    if (range->start == inside) {
        range->function = whole;
        return;
    }
    range->end = range->function->end = inside;
    range_insert(module, below,
                 (struct code_range){.start = inside, .end = end, .function = whole});
}

struct code_function *code_map_called(struct code_map *map, uint64_t address)
{
    struct code_module *module = find_module(map, address);

    if (!module) {
        if (map->jit)
            jit_look_for(map->jit, address);
        struct code_function *named = map->jit ? jit_find(map->jit, address) : NULL;
        return named ? named : called_anonymous(map, address);
    }
    uint64_t inside = address - module->bias;
    ptrdiff_t at = range_with(module, inside);
    if (at < 0)
        return discover(module, inside, range_below(module, inside));
    struct code_range *range = &module->ranges[at];
    if (range->own && range->start == inside)
        return is_no_part(module, range);
    struct code_function *function = range->function;
    if (function && function->flags & CODE_FUNCTION_GUESSED && function->start == range->start &&
        function->start != inside)
        return cut_guess(module, at, inside);
    return function;
}

bool code_map_is_entry(struct code_map *map, uint64_t address)
{
    struct code_module *module = find_module(map, address);

    if (!module) {
        const struct code_function *named = map->jit ? jit_find(map->jit, address) : NULL;
        return named && named->start == address;
    }
    uint64_t inside = address - module->bias;
    ptrdiff_t at = range_with(module, inside);
    return at >= 0 && module->ranges[at].start == inside && module->ranges[at].function &&
           module->ranges[at].function->start == inside;
}

struct code_function *code_map_marker(struct code_map *map, const char *name)
{
    struct code_module *markers = map->markers;

    for (size_t i = 0; i < markers->range_count; i++)
        if (text_equal(markers->ranges[i].function->name, name))
            return markers->ranges[i].function;
    struct code_function *function = platform_allocate(sizeof *function);
    *function = (struct code_function){
        .module = markers,
        .name = text_keep(name),
        .flags = CODE_FUNCTION_MARKER,
        .raw_id = CODE_NO_ID,
    };
    range_insert(markers, (ptrdiff_t)markers->range_count - 1,
                 (struct code_range){.function = function});
    return function;
}

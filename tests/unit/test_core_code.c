/*
 * The code map: which function does an address belong to?
 */
#include "core_script.h"

#include "core/elf_functions.h"
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION STT_FUNC, STB_GLOBAL
#define LOCAL    STT_FUNC, STB_LOCAL
#define A(n)     (CODE_START + (n))

/* The ranges that an image gives, a line each: "START-END FUNCTION", in hex from CODE_START on;
 * FUNCTION is the start of the one it belongs to, with ? where the extent is a guess; after ~ that of
 * the one it may be a part of. */
static char *ranges_of(const uint8_t *image, size_t size_bytes)
{
    struct code_module module = {0};
    char *text;
    size_t text_bytes;
    FILE *out = open_memstream(&text, &text_bytes);

    elf_read_functions(&module, image, size_bytes);
    for (size_t i = 0; i < module.range_count; i++) {
        const struct code_range *range = &module.ranges[i];
        fprintf(out, "%" PRIx64 "-%" PRIx64, range->start - CODE_START, range->end - CODE_START);
        if (!range->function)
            fputs(" plt\n", out);
        else
            fprintf(out, " %" PRIx64 "%s", range->function->start - CODE_START,
                    range->function->flags & CODE_FUNCTION_GUESSED ? "?" : "");
        if (range->function && range->function->flags & CODE_FUNCTION_PERHAPS_PART)
            fprintf(out, "~%" PRIx64, range->function->after - CODE_START);
        if (range->function)
            fputs("\n", out);
    }
    fclose(out);
    return text;
}

static void image_gives(const struct image_parts *parts, const char *expected)
{
    size_t size_bytes;
    uint8_t *image = core_image_make(parts, &size_bytes);
    char *ranges = ranges_of(image, size_bytes);

    assert_string_equal(ranges, expected);
    free(ranges);
    free(image);
}

static void symbols_give(const struct image_symbol *symbols, const char *expected)
{
    image_gives(&(struct image_parts){.symbols = symbols}, expected);
}

static void plain_symbols(void **state)
{
    const struct image_symbol symbols[] = {
        {"b", A(0x20), 0x10, FUNCTION}, {"a", A(0), 0x10, LOCAL}, {0}};

    (void)state;
    symbols_give(symbols, "0-10 0\n20-30 20\n1000-1100 plt\n");
    image_gives(&(struct image_parts){.symbols = symbols, .dynamic = true},
                "0-10 0\n20-30 20\n1000-1100 plt\n");
}

static void what_is_no_function(void **state)
{
    const struct image_symbol symbols[] = {
        {"data", A(0), 0x10, STT_OBJECT, STB_GLOBAL},
        {"label", A(0x20), 0, STT_NOTYPE, STB_LOCAL},
        {"assembly", A(0x40), 0x10, STT_NOTYPE, STB_GLOBAL},
        {"chosen", A(0x60), 0x10, STT_GNU_IFUNC, STB_GLOBAL},
        {"outside", CODE_END, 0x10, FUNCTION},
        {"undefined", 0, 0, FUNCTION},
        {0},
    };

    (void)state;
    symbols_give(symbols, "40-50 40\n60-70 60\n1000-1100 plt\n");
}

static void nested_symbols_cut(void **state)
{
    const struct image_symbol symbols[] = {{"outer", A(0), 0x100, FUNCTION},
                                           {"inner", A(0x20), 0x20, FUNCTION},
                                           {"innermost", A(0x28), 0x8, FUNCTION},
                                           {"next", A(0x100), 0x10, FUNCTION},
                                           {0}};

    (void)state;
    symbols_give(symbols, "0-20 0\n20-28 20\n28-30 28\n30-40 20\n40-100 0\n100-110 100\n"
                          "1000-1100 plt\n");
}

static void overlapping_symbols_stay_disjoint(void **state)
{
    const struct image_symbol symbols[] = {
        {"one", A(0), 0x40, FUNCTION}, {"other", A(0x20), 0x40, FUNCTION}, {0}};

    (void)state;
    symbols_give(symbols, "0-20 0\n20-60 20\n1000-1100 plt\n");
}

static void more_nested_than_anyone_writes(void **state)
{
    struct image_symbol symbols[102] = {{0}};
    size_t size_bytes;

    (void)state;
    for (unsigned i = 0; i < 101; i++)
        symbols[i] = (struct image_symbol){"n", A(i), 0x400 - 2 * i, FUNCTION};
    uint8_t *image = core_image_make(&(struct image_parts){.symbols = symbols}, &size_bytes);
    struct code_module module = {0};
    elf_read_functions(&module, image, size_bytes);
    for (size_t i = 0; i < module.range_count; i++)
        assert_true(module.ranges[i].start < module.ranges[i].end &&
                    (!i || module.ranges[i - 1].end <= module.ranges[i].start));
    assert_int_equal(module.ranges[0].start, A(0));
    free(image);
}

static void symbols_without_a_size_reach_to_the_next(void **state)
{
    const struct image_symbol symbols[] = {
        {"a", A(0), 0, FUNCTION}, {"b", A(0x20), 0x10, FUNCTION}, {"c", A(0x40), 0, FUNCTION}, {0}};

    (void)state;
    symbols_give(symbols, "0-20 0?\n20-30 20\n40-1000 40?\n1000-1100 plt\n");
}

static void a_size_beyond_the_section_is_no_size(void **state)
{
    const struct image_symbol symbols[] = {
        {"a", A(0), UINT64_MAX - 0x10, FUNCTION}, {"b", A(0x20), 0x10, FUNCTION}, {0}};

    (void)state;
    symbols_give(symbols, "0-20 0?\n20-30 20\n1000-1100 plt\n");
}

static void aliases_are_one_function_as_long_as_the_longest(void **state)
{
    const struct image_symbol symbols[] = {{"short", A(0), 0x10, FUNCTION},
                                           {"none", A(0), 0, FUNCTION},
                                           {"long", A(0), 0x30, FUNCTION},
                                           {"b", A(0x20), 0x8, FUNCTION},
                                           {0}};

    (void)state;
    symbols_give(symbols, "0-20 0\n20-28 20\n28-30 0\n1000-1100 plt\n");
}

static void cold_parts_belong_to_their_function(void **state)
{
    const struct image_symbol symbols[] = {
        {"one.c", 0, 0, STT_FILE, STB_LOCAL},
        {"f", A(0), 0x10, LOCAL},
        {"f.cold", A(0x100), 0x10, LOCAL},
        {"two.c", 0, 0, STT_FILE, STB_LOCAL},
        {"f", A(0x20), 0x10, LOCAL},
        {"f.cold", A(0x120), 0x10, LOCAL},
        {"three.c", 0, 0, STT_FILE, STB_LOCAL},
        {"g.cold", A(0x140), 0x10, LOCAL},
        {"orphan.cold", A(0x160), 0x10, LOCAL},
        {".cold", A(0x180), 0x10, LOCAL},
        {"hidden.cold", A(0x1a0), 0x10, LOCAL},
        {"", 0, 0, STT_FILE, STB_LOCAL},
        {"hidden", A(0x80), 0x10, LOCAL},
        {"g", A(0x40), 0x10, FUNCTION},
        {"go", A(0x60), 0x10, FUNCTION},
        {0},
    };

    (void)state;
    symbols_give(symbols, "0-10 0\n20-30 20\n40-50 40\n60-70 60\n80-90 80\n"
                          "100-110 0\n120-130 20\n140-150 40\n160-170 160\n180-190 180\n"
                          "1a0-1b0 80\n1000-1100 plt\n");
}

/* A function that begins where a cold part does, is not a part of the other's. */
static void a_cold_part_at_the_address_of_a_function(void **state)
{
    const struct image_symbol symbols[] = {{"g.cold", A(0), 0x20, FUNCTION},
                                           {"f", A(0), 0x10, FUNCTION},
                                           {"g", A(0x100), 0x10, FUNCTION},
                                           {0}};

    (void)state;
    symbols_give(symbols, "0-10 0\n100-110 100\n1000-1100 plt\n");
}

static const struct image_frame frames[] = {
    {A(0), 0x10, false}, {A(0x20), 0x10, false}, {A(0x40), 0x10, true}, {0}};

static void a_stripped_file_has_its_frames(void **state)
{
    (void)state;
    image_gives(&(struct image_parts){.frames = frames},
                "0-10 0\n20-30 20\n40-50 40?~20\n1000-1100 plt\n");
}

/* They may be parts of what is described before them: those that lie before that too, and those that
 * begin in mid-function. Not one behind a part, at the end of which others begin, nor the first. */
static const struct image_frame split[] = {{A(0x100), 0x10, false},
                                           {A(0x20), 0x10, false},
                                           {A(0x120), 0x10, false},
                                           {A(0x30), 0x10, true},
                                           {A(0x140), 0x10, false},
                                           {A(0x150), 0x10, false},
                                           {0}};

static void parts_are_described_behind_their_functions(void **state)
{
    const struct image_frame first[] = {{A(0x20), 0x10, true}, {A(0x40), 0x10, false}, {0}};

    (void)state;
    image_gives(&(struct image_parts){.frames = split},
                "20-30 20~100\n30-40 30?~120\n100-110 100\n120-130 120\n140-150 140\n"
                "150-160 150\n1000-1100 plt\n");
    image_gives(&(struct image_parts){.frames = first}, "40-50 40\n1000-1100 plt\n");
}

static void symbols_go_before_frames(void **state)
{
    const struct image_symbol symbols[] = {
        {"a", A(0), 0x8, FUNCTION}, {"b", A(0x28), 0x20, FUNCTION}, {0}};

    (void)state;
    image_gives(&(struct image_parts){.symbols = symbols, .frames = frames},
                "0-8 0\n20-28 20\n28-48 28\n1000-1100 plt\n");
}

static void frames_that_overlap_stay_disjoint(void **state)
{
    const struct image_frame overlapping[] = {{A(0), 0x40, false}, {A(0x20), 0x40, false}, {0}};

    (void)state;
    image_gives(&(struct image_parts){.frames = overlapping}, "0-20 0\n20-60 20\n1000-1100 plt\n");
}

static void the_build_id(void **state)
{
    struct code_module module = {0};
    size_t size_bytes;
    uint8_t *image =
        core_image_make(&(struct image_parts){.build_id = "\x01\xab\xff"}, &size_bytes);

    (void)state;
    elf_read_functions(&module, image, size_bytes);
    assert_string_equal(module.build_id, "01abff");
    assert_false(module.has_lines);
    free(image);
}

static void the_segment_of_an_offset(void **state)
{
    size_t size_bytes;
    uint8_t *image = core_image_make(&(struct image_parts){0}, &size_bytes);
    Elf64_Phdr *segment = (Elf64_Phdr *)(image + ((Elf64_Ehdr *)image)->e_phoff) + 2; /* the LOAD */
    uint64_t address_minus_offset = 0;

    (void)state;
    *segment = (Elf64_Phdr){.p_type = PT_LOAD,
                            .p_flags = PF_X,
                            .p_offset = 0x2340,
                            .p_vaddr = 0x7340,
                            .p_filesz = 0x1000};
    assert_true(elf_find_segment(image, size_bytes, 0x2000, &address_minus_offset));
    assert_int_equal(address_minus_offset, 0x5000);
    assert_true(elf_find_segment(image, size_bytes, 0x3000, &address_minus_offset));
    assert_false(elf_find_segment(image, size_bytes, 0x1fff, &address_minus_offset));
    assert_false(elf_find_segment(image, size_bytes, 0x3340, &address_minus_offset));
    segment->p_flags = PF_R;
    assert_false(elf_find_segment(image, size_bytes, 0x2000, &address_minus_offset));
    free(image);
}

/* ---- the map ---- */

static const struct image_symbol two_functions[] = {
    {"a", A(0), 0x10, FUNCTION}, {"b", A(0x100), 0, FUNCTION}, {0}};

static struct code_module *add(struct code_map *map, const char *path, uint64_t bias,
                               const char *build_id)
{
    size_t size_bytes;
    uint8_t *image = core_image_make(
        &(struct image_parts){.symbols = two_functions, .build_id = build_id}, &size_bytes);
    struct code_module *module =
        code_map_add_image(map, path, image, size_bytes, bias + CODE_START, bias + PLT_END, bias);

    free(image);
    return module;
}

static void finding_an_address(void **state)
{
    struct code_map map;

    (void)state;
    code_map_init(&map);
    struct code_module *low = add(&map, "/low", 0x10000, NULL);
    struct code_module *high = add(&map, "/high", 0x30000, NULL);
    struct code_place place = code_map_find(&map, 0x10000 + A(8));
    assert_ptr_equal(place.module, low);
    assert_int_equal(place.function->start, A(0));
    assert_int_equal(place.start, 0x10000 + A(0));
    assert_int_equal(place.end, 0x10000 + A(0x10));
    assert_ptr_equal(code_map_find(&map, 0x30000 + A(8)).module, high);
    place = code_map_find(&map, 0x10000 + PLT_START + 0x20);
    assert_true(place.plt);
    assert_null(place.function);
    place = code_map_find(&map, 0x20000);
    assert_ptr_equal(place.module, map.anonymous);
    assert_null(place.function);
    assert_ptr_equal(code_map_find(&map, 0x10000 + PLT_END).module, map.anonymous);
}

static void entries(void **state)
{
    struct code_map map;

    (void)state;
    code_map_init(&map);
    add(&map, "/low", 0x10000, NULL);
    assert_true(code_map_is_entry(&map, 0x10000 + A(0)));
    assert_false(code_map_is_entry(&map, 0x10000 + A(1)));
    assert_false(code_map_is_entry(&map, 0x10000 + PLT_START));
    assert_false(code_map_is_entry(&map, 0x20000));
}

/* What no symbol covers: a function is where control went, to the next one. */
static void calls_discover_functions(void **state)
{
    struct code_map map;
    unsigned before = functions_found;

    (void)state;
    code_map_init(&map);
    add(&map, "/low", 0x10000, NULL);
    struct code_function *found = code_map_called(&map, 0x10000 + A(0x40));
    assert_int_equal(found->start, A(0x40));
    assert_int_equal(found->end, A(0x100));
    assert_int_equal(functions_found, before + 1);
    assert_ptr_equal(code_map_find(&map, 0x10000 + A(0x80)).function, found);
    /* a call into a guess cuts it ... */
    struct code_function *second = code_map_called(&map, 0x10000 + A(0x80));
    assert_ptr_not_equal(second, found);
    assert_int_equal(found->end, A(0x80));
    assert_int_equal(second->end, A(0x100));
    assert_int_equal(functions_found, before + 2);
    /* ... a symbol's function it does not */
    assert_int_equal(code_map_called(&map, 0x10000 + A(8))->start, A(0));
    assert_int_equal(functions_found, before + 2);
    assert_null(code_map_called(&map, 0x10000 + PLT_START));
}

static bool always(struct platform_stretch whole, struct platform_stretch part, bool in_mid_frame)
{
    (void)whole, (void)part, (void)in_mid_frame;
    return true;
}

static void add_split(struct code_map *map)
{
    size_t size_bytes;
    uint8_t *image = core_image_make(&(struct image_parts){.frames = split}, &size_bytes);

    code_map_init(map);
    code_map_add_image(map, "/split", image, size_bytes, 0x10000 + CODE_START, 0x10000 + PLT_END,
                       0x10000);
    free(image);
}

static void what_is_no_part_is_a_function(void **state)
{
    struct code_map map;

    (void)state;
    add_split(&map);
    assert_int_equal(code_map_find(&map, 0x10000 + A(0x28)).function->start, A(0x20));
    assert_int_equal(code_map_find(&map, 0x10000 + A(0x38)).function->start, A(0x30));
    assert_true(code_map_is_entry(&map, 0x10000 + A(0x20)));
}

static void a_part_belongs_to_its_function(void **state)
{
    struct code_map map;

    (void)state;
    add_split(&map);
    script_is_part = always;
    assert_false(code_map_is_entry(&map, 0x10000 + A(0x20)));
    struct code_place place = code_map_peek(&map, 0x10000 + A(0x28));
    assert_int_equal(place.function->start, A(0x100));
    assert_int_equal(place.start, 0x10000 + A(0x20));
    assert_int_equal(place.end, 0x10000 + A(0x30));
    assert_int_equal(code_map_find(&map, 0x10000 + A(0x38)).function->start, A(0x120));
    script_is_part = NULL; /* it was decided */
    assert_int_equal(code_map_find(&map, 0x10000 + A(0x20)).function->start, A(0x100));
}

/* Unless it begins in mid-function: then it is a call of that, as it is with symbols. */
static void a_part_that_is_called_is_a_function_after_all(void **state)
{
    struct code_map map;
    unsigned before = functions_found;

    (void)state;
    add_split(&map);
    script_is_part = always;
    assert_int_equal(code_map_called(&map, 0x10000 + A(0x28))->start, A(0x100));
    assert_int_equal(code_map_called(&map, 0x10000 + A(0x20))->start, A(0x20));
    assert_int_equal(functions_found, before + 2); /* the code of both is looked at anew */
    assert_int_equal(code_map_find(&map, 0x10000 + A(0x28)).function->start, A(0x20));
    assert_int_equal(code_map_called(&map, 0x10000 + A(0x30))->start, A(0x120));
    script_is_part = NULL;
}

/* A part is none of the stretch that is guessed at. */
static void a_call_of_a_part_cuts_nothing(void **state)
{
    const struct image_symbol symbols[] = {{"f", A(0x100), 0, FUNCTION}, {0}};
    const struct image_frame parts[] = {{A(0x100), 0x10, false}, {A(0x20), 0x10, true}, {0}};
    struct code_map map;
    size_t size_bytes;
    uint8_t *image =
        core_image_make(&(struct image_parts){.symbols = symbols, .frames = parts}, &size_bytes);

    (void)state;
    code_map_init(&map);
    code_map_add_image(&map, "/split", image, size_bytes, 0x10000 + CODE_START, 0x10000 + PLT_END,
                       0x10000);
    script_is_part = always;
    struct code_function *function = code_map_called(&map, 0x10000 + A(0x28));
    assert_int_equal(function->start, A(0x100));
    assert_int_equal(function->end, CODE_END);
    assert_ptr_equal(code_map_find(&map, 0x10000 + A(0x2c)).function, function);
    script_is_part = NULL;
    free(image);
}

static void anonymous_functions_are_known_by_the_call(void **state)
{
    struct code_map map;
    struct code_function *functions[1000];

    (void)state;
    code_map_init(&map);
    for (unsigned i = 0; i < 1000; i++)
        functions[i] = code_map_called(&map, 0x900000 + 16 * i);
    for (unsigned i = 0; i < 1000; i++) {
        assert_ptr_equal(code_map_called(&map, 0x900000 + 16 * i), functions[i]);
        assert_int_equal(functions[i]->start, 0x900000 + 16 * i);
        assert_int_equal(functions[i]->flags, CODE_FUNCTION_ANONYMOUS);
    }
}

static void a_module_that_is_unmapped(void **state)
{
    struct code_map map;

    (void)state;
    code_map_init(&map);
    struct code_module *first = add(&map, "/a", 0x10000, "id one");
    add(&map, "/b", 0x30000, "id two");
    code_map_find(&map, 0x10000 + A(0));
    code_map_remove(&map, 0x10000 + CODE_START, 0x10000 + PLT_END);
    assert_false(first->live);
    assert_ptr_equal(code_map_find(&map, 0x10000 + A(0)).module, map.anonymous);
    assert_ptr_not_equal(code_map_find(&map, 0x30000 + A(0)).module, map.anonymous);
    /* opened again at its place it is the same; another file there is another */
    assert_ptr_equal(add(&map, "/a", 0x10000, "id one"), first);
    assert_true(first->live);
    struct code_module *other = add(&map, "/a", 0x10000, "id three");
    assert_ptr_not_equal(other, first);
    assert_false(first->live);
    assert_ptr_equal(code_map_find(&map, 0x10000 + A(0)).module, other);
}

/* As a library is loaded that is mapped whole, and its data over the end of that. */
static void a_module_whose_end_is_mapped_anew(void **state)
{
    struct code_map map;

    (void)state;
    code_map_init(&map);
    struct code_module *module = add(&map, "/a", 0x10000, "id one");
    uint64_t end = module->end;
    code_map_remove(&map, A(2) + module->bias, end + 0x1000);
    assert_true(module->live);
    assert_int_equal(module->end, A(2) + module->bias);
    assert_ptr_equal(code_map_find(&map, module->bias + A(0)).module, module);
    assert_ptr_equal(code_map_find(&map, module->bias + A(2)).module, map.anonymous);
    code_map_remove(&map, module->start, module->bias + A(1));
    assert_ptr_equal(code_map_find(&map, module->bias + A(0)).module, map.anonymous);
    assert_ptr_equal(code_map_find(&map, module->bias + A(1)).module, module);
    code_map_remove(&map, module->start, module->end);
    assert_false(module->live);
}

static void a_file_that_is_no_elf_is_a_module_all_the_same(void **state)
{
    struct code_map map;
    static const uint8_t text[] = "#!/bin/sh\n";

    (void)state;
    code_map_init(&map);
    struct code_module *module =
        code_map_add_image(&map, "/script", text, sizeof text, 0x10000, 0x20000, 0x10000);
    assert_int_equal(module->range_count, 0);
    assert_int_equal(code_map_called(&map, 0x10100)->start, 0x100);
    module = code_map_add_file(&map, "/no such file", 0x30000, 0x40000, 0x1000);
    assert_string_equal(module->path, "/no such file");
    assert_int_equal(module->bias, 0x2f000);
}

static void markers_are_known_by_their_text(void **state)
{
    struct code_map map;

    (void)state;
    code_map_init(&map);
    struct code_function *ten = code_map_marker(&map, "(signal 10)");
    assert_ptr_equal(code_map_marker(&map, "(signal 10)"), ten);
    assert_ptr_not_equal(code_map_marker(&map, "(signal 11)"), ten);
}

/* ---- Go's own table ---- */

static const struct image_go_function go_functions[] = {
    {"main.one", A(0)}, {"main.two", A(0x40)}, {"main.three", A(0x60)}, {NULL, A(0x100)}};

static void a_go_table_says_where_functions_are(void **state)
{
    const struct image_symbol symbols[] = {{"exported", A(0x200), 0x20, FUNCTION}, {0}};
    const char *expected = "0-40 0\n40-60 40\n60-100 60\n200-220 200\n1000-1100 plt\n";
    struct image_parts parts = {.symbols = symbols, .dynamic = true, .go_functions = go_functions};

    (void)state;
    image_gives(&parts, expected);
    parts.is_loaded_anywhere = true;
    image_gives(&parts, expected);
}

/* It is for files that were stripped. */
static void symbols_come_before_a_go_table(void **state)
{
    const struct image_symbol symbols[] = {{"main.one", A(0), 0x30, FUNCTION}, {0}};

    (void)state;
    image_gives(&(struct image_parts){.symbols = symbols, .go_functions = go_functions},
                "0-30 0\n1000-1100 plt\n");
}

/* ---- files that lie ---- */

static void assert_sorted_and_disjoint(const struct code_module *module)
{
    for (size_t i = 0; i < module->range_count; i++) {
        assert_true(module->ranges[i].start < module->ranges[i].end);
        assert_true(!i || module->ranges[i - 1].end <= module->ranges[i].start);
    }
}

/* In memory of exactly that size, so that a sanitizer sees a byte too many. */
static void survive(const uint8_t *image, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes ? size_bytes : 1);
    struct code_module module = {0};
    uint64_t ignored;

    memcpy(copy, image, size_bytes);
    elf_read_functions(&module, copy, size_bytes);
    elf_find_segment(copy, size_bytes, 0x1000, &ignored);
    assert_sorted_and_disjoint(&module);
    free(module.ranges);
    free(copy);
}

/* All that a file may have, with symbols or stripped. */
static uint8_t *everything(bool stripped, size_t *size_bytes)
{
    static const struct image_symbol symbols[] = {{"one.c", 0, 0, STT_FILE, STB_LOCAL},
                                                  {"f", A(0x100), 0x40, LOCAL},
                                                  {"f.cold", A(0x200), 0x40, LOCAL},
                                                  {"g", A(0x110), 0, FUNCTION},
                                                  {0}};

    return core_image_make(&(struct image_parts){.symbols = symbols,
                                                 .frames = frames,
                                                 .go_functions = stripped ? go_functions : NULL,
                                                 .is_loaded_anywhere = true,
                                                 .build_id = "0123456789",
                                                 .dynamic = stripped,
                                                 .has_lines = true},
                           size_bytes);
}

static void truncate_everything(bool stripped)
{
    size_t size_bytes;
    uint8_t *image = everything(stripped, &size_bytes);

    for (size_t i = 0; i <= size_bytes; i++)
        survive(image, i);
    free(image);
}

static void every_truncation(void **state)
{
    (void)state;
    truncate_everything(false);
    truncate_everything(true);
}

static void alter_everything(bool stripped)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    size_t size_bytes;
    uint8_t *image = everything(stripped, &size_bytes);

    for (size_t i = 0; i < size_bytes; i++) {
        uint8_t was = image[i];
        for (size_t j = 0; j < sizeof values; j++) {
            image[i] = values[j];
            survive(image, size_bytes);
        }
        image[i] = was;
    }
    free(image);
}

static void every_altered_byte(void **state)
{
    (void)state;
    alter_everything(false);
    alter_everything(true);
}

/* This program itself: a linker's work. */
static void truncations_of_a_real_file(void **state)
{
    FILE *file = fopen("/proc/self/exe", "rb");
    uint8_t *image = malloc(1 << 24);
    size_t size_bytes = fread(image, 1, 1 << 24, file);

    (void)state;
    fclose(file);
    assert_true(size_bytes > 4096);
    for (size_t i = 0; i < 4096; i++)
        survive(image, i);
    for (size_t i = 4096; i < size_bytes; i += size_bytes / 512 + 1)
        survive(image, i);
    for (size_t i = 0; i < 512; i++)
        survive(image, size_bytes - i);
    free(image);
}

static void damage_to_a_real_file(void **state)
{
    FILE *file = fopen("/proc/self/exe", "rb");
    uint8_t *image = malloc(1 << 24);
    size_t size_bytes = fread(image, 1, 1 << 24, file);
    uint64_t random = 1;

    (void)state;
    fclose(file);
    for (unsigned i = 0; i < 400; i++) {
        uint8_t was[16];
        size_t at[16];
        for (unsigned j = 0; j < 16; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            /* half of them where the headers and the tables are */
            at[j] = (random >> 33) % (j % 2 ? size_bytes : 1024);
            was[j] = image[at[j]];
            image[at[j]] = random >> 56;
        }
        survive(image, size_bytes);
        for (unsigned j = 16; j-- > 0;)
            image[at[j]] = was[j];
    }
    free(image);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plain_symbols),
        TEST(what_is_no_function),
        TEST(nested_symbols_cut),
        TEST(overlapping_symbols_stay_disjoint),
        TEST(more_nested_than_anyone_writes),
        TEST(symbols_without_a_size_reach_to_the_next),
        TEST(a_size_beyond_the_section_is_no_size),
        TEST(aliases_are_one_function_as_long_as_the_longest),
        TEST(cold_parts_belong_to_their_function),
        TEST(a_cold_part_at_the_address_of_a_function),
        TEST(a_stripped_file_has_its_frames),
        TEST(parts_are_described_behind_their_functions),
        TEST(symbols_go_before_frames),
        TEST(frames_that_overlap_stay_disjoint),
        TEST(a_go_table_says_where_functions_are),
        TEST(symbols_come_before_a_go_table),
        TEST(the_build_id),
        TEST(the_segment_of_an_offset),
        TEST(finding_an_address),
        TEST(entries),
        TEST(calls_discover_functions),
        TEST(what_is_no_part_is_a_function),
        TEST(a_part_belongs_to_its_function),
        TEST(a_part_that_is_called_is_a_function_after_all),
        TEST(a_call_of_a_part_cuts_nothing),
        TEST(anonymous_functions_are_known_by_the_call),
        TEST(a_module_that_is_unmapped),
        TEST(a_module_whose_end_is_mapped_anew),
        TEST(a_file_that_is_no_elf_is_a_module_all_the_same),
        TEST(markers_are_known_by_their_text),
        TEST(every_truncation),
        TEST(every_altered_byte),
        TEST(truncations_of_a_real_file),
        TEST(damage_to_a_real_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_symbols.c: profile_symbolize on profiles made by hand, over the modules beside this file. */
#include "unit.h"
#include "common/memory.h"
#include "symbols/demangle.h"
#include "symbols/line_program.h"
#include "symbols/package.h"
#include "symbols/symbol_table.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct symbols_options no_options = {.package_database = "/nowhere"};

static uint32_t add_module(struct profile *profile, const char *path, enum module_kind kind)
{
    uint32_t module = fixture_module(profile, path, kind);

    profile->modules[module].symbols = SYMBOLS_UNKNOWN;
    profile->modules[module].build_id = 0;
    profile->modules[module].note = 0;
    return module;
}

static uint32_t add_function_at(struct profile *profile, uint32_t module, uint64_t start)
{
    uint32_t function = fixture_function(profile, module, "");

    profile->functions[function] =
        (struct function){.module = module, .kind = FUNCTION_NATIVE, .start = start};
    return function;
}

/* A profile whose only module is the file that the environment variable names. */
static struct profile *profile_of(const char *variable)
{
    struct profile *profile = profile_new();
    const char *path = getenv(variable);

    assert_non_null(path);
    add_module(profile, path, MODULE_FILE);
    return profile;
}

static const char *name_at(uint64_t address)
{
    static char name[256];
    struct profile *profile = profile_of("SYMBOLS_NAMES");
    uint32_t function = add_function_at(profile, 0, address);

    profile_symbolize(profile, &no_options);
    assert_int_equal(profile->functions[function].start, address);
    snprintf(name, sizeof name, "%s", profile_string(profile, profile->functions[function].name));
    profile_free(profile);
    return name;
}

static void test_aliases_are_one(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10000), "alpha");
    assert_string_equal(name_at(0x1000f), "alpha");
}

static void test_symbols_without_size_reach_on(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10010), "no_size");
    assert_string_equal(name_at(0x1001f), "no_size");
}

static void test_symbols_inside_symbols(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10020), "outer");
    assert_string_equal(name_at(0x10028), "inner_label"); /* a function, if it was called */
    assert_string_equal(name_at(0x10029), "outer");       /* but it does not divide outer */
    assert_string_equal(name_at(0x10030), "inner");
    assert_string_equal(name_at(0x1003f), "inner");
    assert_string_equal(name_at(0x10040), "outer");
    assert_string_equal(name_at(0x1011f), "divided");
    assert_string_equal(name_at(0x10120), "divides"); /* global, so it is more than a label */
    assert_string_equal(name_at(0x1012f), "divides");
}

static void test_code_of_no_symbol(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10050), "0x10050");
    assert_string_equal(name_at(0x1005f), "0x1005f");
    assert_string_equal(name_at(0xdeadbeef000), "0xdeadbeef000");
}

static void test_versions_are_not_shown(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10060), "versioned");
}

static void test_cold_parts_are_their_function(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10070), "ns::thing::thing()");
    assert_string_equal(name_at(0x10080), "ns::thing::thing()");
}

static void test_rust_names_have_no_hashes(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x10090), "core::fmt::Formatter::write_str");
    assert_string_equal(name_at(0x100a0), "mycrate::foo::bar");
}

static void test_copies_keep_their_suffix(void **state)
{
    (void)state;
    assert_string_equal(name_at(0x100b0), "helper(int) [clone .constprop.0]");
    assert_string_equal(name_at(0x100c0), "plain.part.0");
}

static void test_symbol_and_size(void **state)
{
    (void)state;
    struct profile *profile = profile_of("SYMBOLS_NAMES");
    uint32_t function = add_function_at(profile, 0, 0x10080);

    profile_symbolize(profile, &no_options);
    assert_string_equal(profile_string(profile, profile->functions[function].symbol),
                        "_ZN2ns5thingC1Ev");
    assert_int_equal(profile->functions[function].size, 16);
    assert_int_equal(profile->modules[0].symbols, SYMBOLS_TABLE);
    assert_string_equal(profile_string(profile, profile->modules[0].note),
                        "no debug info: compile with -g, or give --debug-dir");
    assert_int_equal(profile->meta.symbolized, 1);
    fixture_check(profile);
    profile_free(profile);
}

static void test_another_build_is_refused(void **state)
{
    (void)state;
    struct profile *profile = profile_of("SYMBOLS_NAMES");
    uint32_t function = add_function_at(profile, 0, 0x10000);

    profile->modules[0].build_id = profile_intern(profile, "0123456789abcdee");
    profile_symbolize(profile, &no_options);
    assert_string_equal(profile_string(profile, profile->functions[function].name), "0x10000");
    assert_int_equal(profile->modules[0].symbols, SYMBOLS_NONE);
    const char *note = profile_string(profile, profile->modules[0].note);
    assert_non_null(strstr(note, "its build id is 0123456789abcdef, not 0123456789abcdee"));

    /* With the right build id the same profile can still be symbolized. */
    profile->modules[0].build_id = profile_intern(profile, "0123456789abcdef");
    profile_symbolize(profile, &no_options);
    assert_string_equal(profile_string(profile, profile->functions[function].name), "alpha");
    profile_free(profile);
}

static void test_names_are_not_lost(void **state)
{
    (void)state;
    struct profile *profile = profile_of("SYMBOLS_NAMES");
    uint32_t function = add_function_at(profile, 0, 0); /* as in a profile that was imported */

    profile->functions[function].name = profile_intern(profile, "kept");
    profile_symbolize(profile, &no_options);
    assert_string_equal(profile_string(profile, profile->functions[function].name), "kept");
    profile_free(profile);
}

static void test_missing_and_anonymous_modules(void **state)
{
    (void)state;
    struct profile *profile = profile_new();
    uint32_t gone = add_module(profile, "/no/such/file", MODULE_FILE);
    uint32_t anonymous = add_module(profile, "[anon]", MODULE_ANON);
    uint32_t lost = add_function_at(profile, gone, 0x1234);
    uint32_t code = add_function_at(profile, anonymous, 0x7f0000001000);

    profile->functions[code].kind = FUNCTION_ANON;
    profile_symbolize(profile, &no_options);
    assert_string_equal(profile_string(profile, profile->functions[lost].name), "0x1234");
    assert_string_equal(profile_string(profile, profile->functions[code].name), "[anon]");
    assert_string_equal(profile_string(profile, profile->modules[gone].note),
                        "cannot open /no/such/file: No such file or directory");
    assert_int_equal(profile->modules[gone].symbols, SYMBOLS_NONE);
    fixture_check(profile);
    profile_free(profile);
}

static void read_table(const char *variable, struct elf_file *file, struct symbol_table *table)
{
    struct error error;

    *table = (struct symbol_table){0};
    assert_int_equal(elf_file_open(file, getenv(variable), &error), OK);
    symbol_table_read(table, file);
    symbol_table_finish(table, file);
}

static void test_cold_parts_of_namesakes(void **state)
{
    (void)state;
    struct elf_file file;
    struct symbol_table table;

    read_table("SYMBOLS_NAMES", &file, &table);
    assert_int_equal(symbol_table_find(&table, 0x100d4)->start, 0x100d0);
    assert_int_equal(symbol_table_find(&table, 0x100e4)->start, 0x100d0);
    assert_int_equal(symbol_table_find(&table, 0x100f4)->start, 0x10100);
    assert_int_equal(symbol_table_find(&table, 0x10104)->start, 0x10100);
    assert_null(symbol_table_find(&table, 0x10130));
    symbol_table_free(&table);
    elf_file_close(&file);
}

static void test_the_kernels_code(void **state)
{
    (void)state;
    struct elf_file file;
    struct error error;

    if (elf_file_open(&file, ELF_FILE_VDSO, &error) != OK)
        skip();
    struct symbol_table table = {0};
    symbol_table_read(&table, &file);
    symbol_table_finish(&table, &file);
    bool found = false;
    for (size_t i = 0; i < table.symbol_count; i++)
        found |= strncmp(table.symbols[i].name, "clock_gettime", table.symbols[i].name_length) == 0;
    assert_true(found);
    symbol_table_free(&table);
    elf_file_close(&file);
}

/* Start and size of a symbol of the module with inlined functions. */
static struct symbol symbol_named(const char *name)
{
    struct elf_file file;
    struct symbol_table table;
    struct symbol found = {0};

    read_table("SYMBOLS_INLINED", &file, &table);
    for (size_t i = 0; i < table.symbol_count; i++)
        if (strcmp(table.symbols[i].name, name) == 0)
            found = table.symbols[i];
    assert_true(found.end > found.start);
    symbol_table_free(&table);
    elf_file_close(&file);
    return found;
}

/* A block over all of a function, as if every byte were an instruction. */
static uint32_t add_block_over(struct profile *profile, struct symbol symbol)
{
    uint32_t size_bytes = (uint32_t)(symbol.end - symbol.start);

    *array_push(profile->blocks, profile->block_count, profile->block_capacity) = (struct block){
        .address = symbol.start,
        .instructions = size_bytes,
        .first_length = (uint32_t)profile->instruction_length_count,
    };
    for (uint32_t i = 0; i < size_bytes; i++)
        *array_push(profile->instruction_lengths, profile->instruction_length_count,
                    profile->instruction_length_capacity) = 1;
    return (uint32_t)(profile->block_count - 1);
}

struct inlined {
    struct profile *profile;
    uint32_t outermost, both;
    uint32_t block;
};

static struct inlined symbolize_inlined(void)
{
    struct inlined made = {.profile = profile_of("SYMBOLS_INLINED")};

    made.outermost = add_function_at(made.profile, 0, symbol_named("outermost").start);
    made.both = add_function_at(made.profile, 0, symbol_named("both").start);
    made.block = add_block_over(made.profile, symbol_named("outermost"));
    fixture_site(made.profile, 0, symbol_named("outermost").start, NONE);
    profile_symbolize(made.profile, &no_options);
    fixture_check(made.profile);
    return made;
}

/* Whether a location reads `function:line` for each expected frame, outermost first. */
static bool location_is(const struct profile *profile, uint32_t location, size_t count,
                        const char *const *expected)
{
    const struct location *chain = &profile->locations[location];
    char text[256];

    if (chain->count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct location_frame *frame = &profile->location_frames[chain->first + i];
        const char *file = profile_string(profile, frame->file);
        const char *name = profile_string(profile, profile->functions[frame->function].name);
        snprintf(text, sizeof text, "%s %s:%u", name, strrchr(file, '/') ? strrchr(file, '/') : "",
                 frame->line);
        if (strcmp(text, expected[i]) != 0)
            return false;
    }
    return true;
}

static bool some_piece_is(const struct inlined *made, size_t count, const char *const *expected)
{
    const struct block *block = &made->profile->blocks[made->block];

    for (uint32_t i = 0; i < block->piece_count; i++)
        if (location_is(made->profile, made->profile->pieces[block->first_piece + i].location,
                        count, expected))
            return true;
    return false;
}

static void test_inline_chains(void **state)
{
    (void)state;
    struct inlined made = symbolize_inlined();

    assert_int_equal(made.profile->modules[0].symbols, SYMBOLS_DEBUG);
    assert_string_equal(profile_string(made.profile, made.profile->modules[0].note), "");
    assert_true(some_piece_is(&made, 3,
                              (const char *[]){"outermost /inlined.c:23", "middle /inlined.c:10",
                                               "innermost /inlined.c:5"}));
    assert_true(
        some_piece_is(&made, 2, (const char *[]){"outermost /inlined.c:24", "both /inlined.c:16"}));
    assert_true(location_is(made.profile, made.profile->sites[0].location, 1,
                            (const char *[]){"outermost /inlined.c:20"}) ||
                location_is(made.profile, made.profile->sites[0].location, 1,
                            (const char *[]){"outermost /inlined.c:22"}));
    profile_free(made.profile);
}

static void test_pieces_are_runs(void **state)
{
    (void)state;
    struct inlined made = symbolize_inlined();
    const struct profile *profile = made.profile;
    const struct block *block = &profile->blocks[made.block];
    uint64_t instructions = 0;

    assert_true(block->piece_count > 3);
    for (uint32_t i = 0; i < block->piece_count; i++) {
        const struct piece *piece = &profile->pieces[block->first_piece + i];
        instructions += piece->instructions;
        assert_true(i == 0 || piece[-1].location != piece->location);
        const struct location *location = &profile->locations[piece->location];
        assert_true(location->count >= 1);
        assert_int_equal(profile->location_frames[location->first].function, made.outermost);
    }
    assert_int_equal(instructions, block->instructions);
    profile_free(made.profile);
}

static void test_functions_inlined_and_not(void **state)
{
    (void)state;
    struct inlined made = symbolize_inlined();
    const struct profile *profile = made.profile;
    int inlined_only = 0;

    assert_int_equal(profile->functions[made.both].only_inlined, 0);
    assert_int_equal(profile->functions[made.both].line, 14);
    for (size_t i = 0; i < profile->function_count; i++) {
        const char *name = profile_string(profile, profile->functions[i].name);
        if (strcmp(name, "both") == 0)
            assert_int_equal(i, made.both); /* the inlined copy is no second function */
        if (!profile->functions[i].only_inlined)
            continue;
        inlined_only++;
        assert_true(strcmp(name, "middle") == 0 || strcmp(name, "innermost") == 0);
        assert_int_equal(profile->functions[i].start, 0);
        assert_int_equal(profile->functions[i].line, strcmp(name, "middle") == 0 ? 8 : 3);
    }
    assert_int_equal(inlined_only, 2);
    profile_free(made.profile);
}

static void test_twice_is_once(void **state)
{
    (void)state;
    struct inlined made = symbolize_inlined();
    size_t functions = made.profile->function_count, pieces = made.profile->piece_count;

    profile_symbolize(made.profile, &no_options);
    assert_int_equal(made.profile->function_count, functions);
    assert_int_equal(made.profile->piece_count, pieces);
    profile_free(made.profile);
}

static void test_circular_references(void **state)
{
    (void)state;
    struct profile *profile = profile_of("SYMBOLS_CIRCULAR");
    uint32_t first = add_function_at(profile, 0, 0x10000);
    uint32_t second = add_function_at(profile, 0, 0x10010);

    for (uint64_t address = 0x10000; address < 0x10020; address++)
        fixture_site(profile, 0, address, NONE);
    profile_symbolize(profile, &no_options);
    fixture_check(profile);
    assert_string_equal(profile_string(profile, profile->functions[first].name), "first");
    assert_string_equal(profile_string(profile, profile->functions[second].name), "second");
    /* What was inlined has no name, so the chain ends at the call of it. */
    assert_true(location_is(profile, profile->sites[4].location, 1, (const char *[]){"first :77"}));
    assert_true(location_is(profile, profile->sites[8].location, 1, (const char *[]){"first :0"}));
    assert_true(
        location_is(profile, profile->sites[20].location, 1, (const char *[]){"second :0"}));
    assert_int_equal(profile->function_count, 2);
    profile_free(profile);
}

static void test_contradictions(void **state)
{
    (void)state;
    struct profile *profile = profile_of("SYMBOLS_CIRCULAR");

    for (uint64_t address = 0x10010; address < 0x10030; address++)
        fixture_site(profile, 0, address, NONE);
    profile_symbolize(profile, &no_options);
    fixture_check(profile);
    for (uint64_t i = 0; i < 32; i++) {
        bool inlined = i >= 20 && i < 24;
        const char *const chain[] = {i < 16    ? "second :0"
                                     : inlined ? "third :88"
                                               : "third :42",
                                     "inside :42"};
        assert_true(location_is(profile, profile->sites[i].location, inlined ? 2 : 1, chain));
    }
    profile_free(profile);
}

struct spans {
    char text[256];
};

static bool collect_span(void *opaque, uint64_t sequence_start, uint64_t start, uint64_t end,
                         uint64_t file, uint64_t line)
{
    struct spans *spans = opaque;
    size_t used = strlen(spans->text);

    snprintf(spans->text + used, sizeof spans->text - used, "%x:%x-%x=%u:%u ",
             (unsigned)sequence_start, (unsigned)start, (unsigned)end, (unsigned)file,
             (unsigned)line);
    return true;
}

static void test_line_programs(void **state)
{
    (void)state;
    static const uint8_t section[] = {
        75,
        0,
        0,
        0,
        4,
        0,
        22,
        0,
        0,
        0, /* length, version, length of the header */
        1,
        1,
        1,
        0xfb,
        14,
        13, /* steps of 1; lines from -5, 14 of them */
        0,
        1,
        1,
        1,
        1,
        0,
        0,
        0,
        1,
        0,
        0,
        1, /* operands of the opcodes */
        0,
        'f',
        0,
        0, /* no directories; the rest is not looked at */
        0,
        9,
        2,
        0x00,
        0x10,
        0,
        0,
        0,
        0,
        0,
        0, /* address 0x1000 */
        3,
        9,
        1,                   /* line 10 */
        13 + 5 + 1 + 14 * 2, /* two on, one line down */
        13 + 5 - 3,          /* the same address, three lines up: it holds */
        4,
        2,
        2,
        4,
        1, /* file 2, four on */
        3,
        100,
        1, /* a row at the end, of no length */
        0,
        1,
        1, /* end */
        0,
        9,
        2,
        0x00,
        0x20,
        0,
        0,
        0,
        0,
        0,
        0, /* address 0x2000: a sequence of its own */
        1,
        8,
        1,
        9,
        0x10,
        0,
        0,
        1,
        1, /* 17 on, 16 on, end */
    };
    struct spans spans = {""};

    assert_int_equal(section[0] + 4, sizeof section);
    assert_int_equal(line_program_run(section, sizeof section, 0, collect_span, &spans), 0);
    assert_string_equal(spans.text, "1000:1000-1002=1:10 1000:1002-1006=1:8 "
                                    "2000:2000-2011=1:1 2000:2011-2021=1:1 ");
    for (size_t length = 0; length < sizeof section; length++)
        assert_int_equal(line_program_run(section, length, 0, collect_span, &spans), -1);
}

static void test_names_that_explode(void **state)
{
    (void)state;
    /* Every parameter is a<P, P>, P being the one before: each doubles the text. */
    char symbol[512] = "_Z1f1aIiiE";
    for (int i = 0; i < 35; i++) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char piece[16];
        snprintf(piece, sizeof piece, "S_IS%c_S%c_E", digits[i], digits[i]);
        strcat(symbol, piece);
    }
    char *fine = demangle_symbol("_Z1f1aIiiES_IS0_S0_E");
    assert_string_equal(fine, "f(a<int, int>, a<a<int, int>, a<int, int> >)");
    free(fine);
    assert_null(demangle_symbol(symbol));
    assert_null(demangle_symbol("main"));
    assert_null(demangle_symbol("_start"));
}

/* Symbols of Rust programs, with the names that two other demanglers agree on. */
static void test_rust_names(void **state)
{
    (void)state;
    FILE *file = fopen(getenv("SYMBOLS_RUST_NAMES"), "r");
    char *line = NULL;
    size_t capacity = 0;
    int count = 0;

    assert_non_null(file);
    for (; getline(&line, &capacity, file) > 0; count++) {
        char *expected = strchr(line, '\t');
        assert_non_null(expected);
        *expected++ = '\0';
        expected[strcspn(expected, "\n")] = '\0';
        char *name = demangle_symbol(line);
        assert_non_null(name);
        assert_string_equal(name, expected);
        free(name);
    }
    assert_true(count > 40);
    free(line);
    fclose(file);
}

/* Symbols that would take for ever, or lead outside of themselves. */
static void test_rust_names_that_are_not(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "_RMs7_Ms6_NtCsltB7_5boxed3BoxDGNtNtEtCN_uNtC5alloc7raw_vecINvB5_6RRtNttB_d",
        "_RNvB_3foo",
        "_RNvB5_3foo",
        "_RNvC99999999999999999999a3foo",
        "_RNvC3abc",
        "_RC",
        "_R",
        "_RINvC1a1bKc110000_E",
        "_RNvC1au1b",
        "_RNvC1au9zzzzzzzzz1b",
    };

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        assert_null(demangle_symbol(symbols[i]));

    /* Each tuple has the one before it twice. */
    char symbol[2048] = "_RINvC1a1bTaaE";
    size_t previous = strlen("INvC1a1b");
    for (int i = 0; i < 60; i++) {
        static const char digits[] =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        size_t place = strlen(symbol) - 2, value = previous - 1;
        char reference[8], piece[24];
        if (value < 62)
            snprintf(reference, sizeof reference, "B%c_", digits[value]);
        else
            snprintf(reference, sizeof reference, "B%c%c_", digits[value / 62], digits[value % 62]);
        snprintf(piece, sizeof piece, "T%s%sE", reference, reference);
        strcat(symbol, piece);
        previous = place;
    }
    strcat(symbol, "E");
    assert_null(demangle_symbol(symbol));
}

static void test_package_lookup(void **state)
{
    (void)state;
    char directory[] = "/tmp/trueflame-packages-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char *libc = memory_format("%s/libc6:amd64.list", directory);
    char *other = memory_format("%s/libfoo1.list", directory);
    FILE *file = fopen(libc, "w");
    fputs("/.\n/lib/x86_64-linux-gnu/libc.so.6\n", file);
    fclose(file);
    file = fopen(other, "w");
    fputs("/usr/lib/libfoo.so.1.2\n/usr/lib/libfoo.so.1\n/usr/bin/zoo\n", file);
    fclose(file);
    /* A package that is called after what another one has, and one without the end of a line. */
    char *namesake = memory_format("%s/zoo.list", directory);
    file = fopen(namesake, "w");
    fputs("/home/me/zoo\n[vdso]\n/usr/share/doc/zoo\n/usr/lib/libfoo.so.2", file);
    fclose(file);

    static const char *const paths[] = {
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/usr/lib/libfoo.so.1",
        "/usr/lib/libfoo.so",
        "/usr/lib/libfoo.so.1.2.3",
        "/usr/lib/libfoo.so.1",
        "/usr/bin/zoo",
        "/usr/lib/libfoo.so.2",
        "/home/me/zoo", /* where no package has anything: not looked for */
        "[vdso]",
    };
    enum { PATHS = sizeof paths / sizeof *paths };
    char *packages[PATHS];
    packages_with_debug_info(directory, PATHS, paths, packages);
    assert_string_equal(packages[0], "libc6-dbg"); /* listed without /usr */
    assert_string_equal(packages[1], "libfoo1-dbgsym");
    assert_null(packages[2]);
    assert_null(packages[3]);
    assert_string_equal(packages[4], "libfoo1-dbgsym");
    assert_string_equal(packages[5], "libfoo1-dbgsym");
    assert_string_equal(packages[6], "zoo-dbgsym");
    assert_null(packages[7]);
    assert_null(packages[8]);
    for (size_t i = 0; i < PATHS; i++)
        free(packages[i]);
    packages_with_debug_info("/nowhere", PATHS, paths, packages);
    assert_null(packages[1]);
    unlink(libc);
    unlink(other);
    unlink(namesake);
    free(namesake);
    rmdir(directory);
    free(libc);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases_are_one),
        cmocka_unit_test(test_symbols_without_size_reach_on),
        cmocka_unit_test(test_symbols_inside_symbols),
        cmocka_unit_test(test_code_of_no_symbol),
        cmocka_unit_test(test_versions_are_not_shown),
        cmocka_unit_test(test_cold_parts_are_their_function),
        cmocka_unit_test(test_cold_parts_of_namesakes),
        cmocka_unit_test(test_rust_names_have_no_hashes),
        cmocka_unit_test(test_copies_keep_their_suffix),
        cmocka_unit_test(test_symbol_and_size),
        cmocka_unit_test(test_another_build_is_refused),
        cmocka_unit_test(test_names_are_not_lost),
        cmocka_unit_test(test_missing_and_anonymous_modules),
        cmocka_unit_test(test_the_kernels_code),
        cmocka_unit_test(test_inline_chains),
        cmocka_unit_test(test_pieces_are_runs),
        cmocka_unit_test(test_functions_inlined_and_not),
        cmocka_unit_test(test_twice_is_once),
        cmocka_unit_test(test_circular_references),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_line_programs),
        cmocka_unit_test(test_names_that_explode),
        cmocka_unit_test(test_rust_names),
        cmocka_unit_test(test_rust_names_that_are_not),
        cmocka_unit_test(test_package_lookup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

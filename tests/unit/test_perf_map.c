/*
 * test_perf_map.c: maps as their writers write them, and as somebody hostile would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/perf_map.h"

struct collected {
    char text[4096]; /* entries written as START+SIZE=NAME, one after the other, with ; between */
    size_t count, longest;
};

static void collect(void *context, const struct perf_map_entry *entry)
{
    struct collected *collected = context;
    size_t used = strlen(collected->text);

    snprintf(collected->text + used, sizeof collected->text - used, "%jx+%jx=%.*s;",
             (uintmax_t)entry->start, (uintmax_t)entry->size_bytes,
             entry->name_length > 40 ? 40 : (int)entry->name_length, entry->name);
    collected->count++;
    if (entry->name_length > collected->longest)
        collected->longest = entry->name_length;
}

static void assert_entries(const char *map, const char *expected, uint64_t bad_lines)
{
    /* However the bytes come, the entries are the same. */
    for (size_t piece = 1; piece <= strlen(map) + 1; piece++) {
        struct perf_map_parser parser = {0};
        struct collected collected = {0};
        for (size_t at = 0; at < strlen(map); at += piece)
            perf_map_feed(&parser, map + at, strlen(map) - at < piece ? strlen(map) - at : piece,
                          collect, &collected);
        perf_map_finish(&parser, collect, &collected);
        assert_string_equal(collected.text, expected);
        assert_int_equal(parser.bad_lines, bad_lines);
        assert_int_equal(parser.entries, collected.count);
    }
}

static void test_every_writer(void **state)
{
    (void)state;
    assert_entries("7f5a3c1e5000 b py::foo:app.py\n", "7f5a3c1e5000+b=py::foo:app.py;", 0);
    assert_entries("7f542c024a80 378 JS:~leaf app.js:1:14\n",
                   "7f542c024a80+378=JS:~leaf app.js:1:14;", 0);
    assert_entries("0x00007fdbb8f1a320 0x00000000000002b8 int Hot.leaf(int)\n",
                   "7fdbb8f1a320+2b8=int Hot.leaf(int);", 0);
    assert_entries("0X10 0XA upper\nABCDEF 1F Upper\n", "10+a=upper;abcdef+1f=Upper;", 0);
    assert_entries("10 20 TRACE_1::x.lua:3\n30 20 TRACE_2::x.lua:9\n",
                   "10+20=TRACE_1::x.lua:3;30+20=TRACE_2::x.lua:9;", 0);
    assert_entries("10 1 na\xc3\xafve\n", "10+1=na\xc3\xafve;", 0);
}

static void test_last_line_without_newline(void **state)
{
    (void)state;
    assert_entries("10 20 whole\n30 20 cu", "10+20=whole;30+20=cu;", 0);
    assert_entries("10 20 whole\n30 2", "10+20=whole;", 1);
    assert_entries("10 20 whole\n30", "10+20=whole;", 1);
}

static void test_order_and_overlap(void **state)
{
    (void)state;
    assert_entries("10 20 first\n10 20 second\n18 4 inside\n",
                   "10+20=first;10+20=second;18+4=inside;", 0);
}

static void test_odd_lines(void **state)
{
    (void)state;
    assert_entries("\n\n10 1 a\n\n", "10+1=a;", 0);
    assert_entries("  10\t \t1   spaced name  \n", "10+1=spaced name  ;", 0);
    assert_entries("10 1 dos\r\n", "10+1=dos;", 0);
    assert_entries("0 1 zero\n", "0+1=zero;", 0);
    assert_entries("ffffffffffffffff 1 last\n", "ffffffffffffffff+1=last;", 0);
}

static void test_bad_lines(void **state)
{
    (void)state;
    assert_entries("words only\n", "", 1);
    assert_entries("10 20\n10 20 \n10 20 \r\n", "", 3);
    assert_entries("10 0 empty\n", "", 1);
    assert_entries("ffffffffffffffff 2 wraps\n", "", 1);
    assert_entries("10000000000000000 1 too long a number\n", "", 1);
    assert_entries("0x 1 no digits\n-10 1 negative\n1g 1 not hex\n", "", 3);
    assert_entries("10 1 a\nbad\n20 1 b\n", "10+1=a;20+1=b;", 1);
}

static void test_gigantic_line(void **state)
{
    struct perf_map_parser *parser = calloc(1, sizeof *parser);
    struct collected collected = {0};
    char block[1000];

    (void)state;
    memset(block, 'x', sizeof block);
    perf_map_feed(parser, "10 1 ", 5, collect, &collected);
    for (int i = 0; i < 100000; i++)
        perf_map_feed(parser, block, sizeof block, collect, &collected);
    perf_map_feed(parser, "\n20 1 after\n", 12, collect, &collected);
    assert_int_equal(collected.count, 2);
    assert_int_equal(collected.longest, PERF_MAP_LONGEST_NAME_BYTES);
    assert_int_equal(parser->cut_names, 1);
    assert_non_null(strstr(collected.text, "20+1=after;"));
    free(parser);
}

/* ---- the file ---- */

struct place {
    char directory[64], map[128], other[128];
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    strcpy(place->directory, "/tmp/test-perf-map-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->map, sizeof place->map, "%s/perf-1.map", place->directory);
    snprintf(place->other, sizeof place->other, "%s/other", place->directory);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    unlink(place->map);
    unlink(place->other);
    rmdir(place->directory);
    free(place);
    return 0;
}

static void write_file(const char *path, const char *mode, const char *text)
{
    FILE *stream = fopen(path, mode);

    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

static void assert_complains(const char *complaint, const char *words)
{
    assert_non_null(complaint);
    assert_non_null(strstr(complaint, words));
}

static void test_a_file_that_grows(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    perf_map_open(&file, place->map, geteuid());
    assert_null(perf_map_read(&file, collect, &collected));
    assert_int_equal(collected.count, 0);
    write_file(place->map, "w", "10 1 a\n20 1 hal");
    assert_null(perf_map_read(&file, collect, &collected));
    assert_string_equal(collected.text, "10+1=a;");
    write_file(place->map, "a", "f\n");
    assert_null(perf_map_read(&file, collect, &collected));
    assert_null(perf_map_read(&file, collect, &collected));
    assert_string_equal(collected.text, "10+1=a;20+1=half;");
    write_file(place->map, "a", "30 1 end");
    assert_null(perf_map_close(&file, collect, &collected));
    assert_string_equal(collected.text, "10+1=a;20+1=half;30+1=end;");
}

static void test_a_leftover_file(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    write_file(place->map, "w", "10 1 of another life\n");
    perf_map_open(&file, place->map, geteuid());
    write_file(place->map, "a", "20 1 appended\n");
    assert_null(perf_map_close(&file, collect, &collected));
    assert_string_equal(collected.text, "20+1=appended;");

    /* The writer replaced it instead: everything is new. */
    memset(&collected, 0, sizeof collected);
    perf_map_open(&file, place->map, geteuid());
    write_file(place->map, "w", "30 1 new\n");
    assert_null(perf_map_close(&file, collect, &collected));
    assert_string_equal(collected.text, "30+1=new;");
}

static void test_a_file_made_anew(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    perf_map_open(&file, place->map, geteuid());
    write_file(place->map, "w", "10 1 before\n20 1 unfinished");
    assert_null(perf_map_read(&file, collect, &collected));
    write_file(place->other, "w", "30 1 after\n");
    assert_int_equal(rename(place->other, place->map), 0);
    assert_null(perf_map_close(&file, collect, &collected));
    assert_string_equal(collected.text, "10+1=before;30+1=after;");
}

static void test_a_symlink_in_the_way(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    write_file(place->other, "w", "10 1 elsewhere\n");
    assert_int_equal(symlink(place->other, place->map), 0);
    perf_map_open(&file, place->map, geteuid());
    assert_complains(perf_map_read(&file, collect, &collected), "is a symbolic link");
    assert_complains(perf_map_close(&file, collect, &collected), "is a symbolic link");
    assert_int_equal(collected.count, 0);
}

static void test_a_pipe_in_the_way(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    assert_int_equal(mkfifo(place->map, 0600), 0);
    perf_map_open(&file, place->map, geteuid());
    assert_complains(perf_map_read(&file, collect, &collected), "is not a file");
}

static void test_another_users_file(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    /* Only root can give a file away; anybody can pretend to be another. */
    perf_map_open(&file, place->map, geteuid() ? geteuid() + 1 : 0);
    write_file(place->map, "w", "10 1 a\n");
    if (!geteuid())
        assert_int_equal(chown(place->map, 65534, (gid_t)-1), 0);
    assert_complains(perf_map_read(&file, collect, &collected), "belongs to another user");
    assert_int_equal(collected.count, 0);
    file.owner = geteuid() ? geteuid() : 65534;
    assert_null(perf_map_close(&file, collect, &collected));
    assert_int_equal(collected.count, 1);
}

static void test_another_users_leftover(void **state)
{
    struct place *place = *state;
    struct collected collected = {0};
    struct perf_map_file file;

    write_file(place->map, "w", "10 1 a\n");
    perf_map_open(&file, place->map, geteuid() + 1);
    assert_null(perf_map_close(&file, collect, &collected));
    assert_int_equal(collected.count, 0);
}

#define in_place(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_writer),      cmocka_unit_test(test_last_line_without_newline),
        cmocka_unit_test(test_order_and_overlap), cmocka_unit_test(test_odd_lines),
        cmocka_unit_test(test_bad_lines),         cmocka_unit_test(test_gigantic_line),
        in_place(test_a_file_that_grows),         in_place(test_a_leftover_file),
        in_place(test_a_file_made_anew),          in_place(test_a_symlink_in_the_way),
        in_place(test_a_pipe_in_the_way),         in_place(test_another_users_file),
        in_place(test_another_users_leftover),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

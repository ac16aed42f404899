/*
 * The .flame file: what is written comes back; what is damaged is refused with a sentence.
 */
#include "unit.h"

#include "common/file.h"
#include "common/memory.h"
#include "profile/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static struct file_bytes written(const struct profile *profile)
{
    char path[] = "/tmp/trueflame-unit-XXXXXX";
    struct error error;
    struct file_bytes file;

    close(mkstemp(path));
    if (flame_write(profile, path, &error) || file_read(&file, path, &error))
        fail_msg("%s", error.text);
    unlink(path);
    return file;
}

static struct profile *parsed(const struct file_bytes *file)
{
    struct profile *profile;
    struct error error;

    if (flame_parse(file->bytes, file->size_bytes, "test", &profile, &error))
        fail_msg("%s", error.text);
    return profile;
}

/* Strings are compared as text, because the file numbers them anew. */
static void assert_same_table(const struct profile *a, const struct profile *b, size_t id)
{
    const struct table *table = &profile_tables[id];
    const char *row_a = table_rows(a, table), *row_b = table_rows(b, table);

    assert_int_equal(table_row_count(a, table), table_row_count(b, table));
    for (size_t i = 0; i < table_row_count(a, table); i++) {
        for (size_t c = 0; c < table->column_count; c++) {
            const struct column *column = &table->columns[c];
            uint64_t value_a = column_load(column, row_a), value_b = column_load(column, row_b);
            if (column->refers == TABLE_STRINGS)
                assert_string_equal(profile_string(a, value_a), profile_string(b, value_b));
            else
                assert_int_equal(value_a, value_b);
        }
        row_a += table->row_bytes;
        row_b += table->row_bytes;
    }
}

static void everything_comes_back(void **state)
{
    struct profile *before = fixture_everything();
    struct file_bytes file = written(before);
    struct profile *after = parsed(&file);

    (void)state;
    for (size_t id = 0; id < TABLE_END; id++)
        if (profile_tables[id].name) {
            assert_true(table_row_count(before, &profile_tables[id]) > 0);
            assert_same_table(before, after, id);
        }
    assert_int_equal(after->meta.date_seconds, 1700000000);
    assert_string_equal(profile_string(after, after->meta.host), "somewhere");
    assert_string_equal(profile_string(after, after->meta.pids), "4711");
    assert_int_equal(profile_total_instructions(after), 7000000000125ull);
    file_free(&file);
    profile_free(before);
    profile_free(after);
}

static void extreme_values_come_back(void **state)
{
    struct profile *before = fixture_everything();

    (void)state;
    before->meta.detail = DETAIL_FUNCTION;
    before->meta.exit_status = INT32_MIN;
    before->sites[0].address = UINT64_MAX;
    before->sites[1].address = 0;
    before->contexts[3].self_instructions = UINT64_MAX - 1000;
    before->contexts[3].calls = UINT64_MAX - 1000;
    fixture_check(before);
    struct file_bytes file = written(before);
    struct profile *after = parsed(&file);
    for (size_t id = 0; id < TABLE_END; id++)
        if (profile_tables[id].name)
            assert_same_table(before, after, id);
    file_free(&file);
    profile_free(before);
    profile_free(after);
}

static void only_the_run_section_knows_the_machine(void **state)
{
    struct profile *here = fixture_everything(), *there = fixture_everything();

    (void)state;
    there->meta.host = profile_intern(there, "elsewhere, with a longer name");
    there->meta.pids = profile_intern(there, "1 2 3");
    there->meta.date_seconds = 1;
    struct file_bytes file_here = written(here), file_there = written(there);
    size_t run = 16;
    uint64_t meta_bytes;
    memcpy(&meta_bytes, file_here.bytes + 16 + 8, 8);
    run += 32 + meta_bytes;
    uint64_t here_bytes, there_bytes;
    memcpy(&here_bytes, file_here.bytes + run + 8, 8);
    memcpy(&there_bytes, file_there.bytes + run + 8, 8);
    size_t rest_here = run + 32 + here_bytes, rest_there = run + 32 + there_bytes;
    assert_memory_equal(file_here.bytes, file_there.bytes, run);
    assert_int_equal(file_here.size_bytes - rest_here, file_there.size_bytes - rest_there);
    assert_memory_equal(file_here.bytes + rest_here, file_there.bytes + rest_there,
                        file_here.size_bytes - rest_here);
    file_free(&file_here);
    file_free(&file_there);
    profile_free(here);
    profile_free(there);
}

static void assert_refused(const uint8_t *bytes, size_t size_bytes)
{
    struct profile *profile;
    struct error error = {0};

    assert_int_equal(flame_parse(bytes, size_bytes, "test.flame", &profile, &error), ERROR);
    assert_null(profile);
    assert_non_null(strstr(error.text, "test.flame: "));
    assert_null(strchr(error.text, '\n'));
}

static void every_truncation_is_refused(void **state)
{
    struct profile *profile = fixture_everything();
    struct file_bytes file = written(profile);

    (void)state;
    for (size_t size = 0; size < file.size_bytes; size++)
        assert_refused(file.bytes, size);
    file_free(&file);
    profile_free(profile);
}

static void every_altered_byte_is_refused(void **state)
{
    struct profile *profile = fixture_everything();
    struct file_bytes file = written(profile);

    (void)state;
    for (size_t at = 0; at < file.size_bytes; at++) {
        file.bytes[at] ^= 0x10;
        assert_refused(file.bytes, file.size_bytes);
        file.bytes[at] ^= 0x10;
    }
    file_free(&file);
    profile_free(profile);
}

/* The first section claims 2^60 bytes when unpacked, with a checksum that agrees. */
static void absurd_sizes_are_refused(void **state)
{
    struct profile *profile = fixture_everything();
    struct file_bytes file = written(profile);
    uint8_t *header = file.bytes + 16;
    uint64_t absurd = 1ull << 60, stored;

    (void)state;
    memcpy(header + 16, &absurd, sizeof absurd);
    memcpy(&stored, header + 8, sizeof stored);
    uint8_t *checked = memory_allocate(24 + stored);
    memcpy(checked, header, 24);
    memcpy(checked + 24, header + 32, stored);
    uint64_t checksum = XXH64(checked, 24 + stored, 0);
    memcpy(header + 24, &checksum, sizeof checksum);
    struct profile *read;
    struct error error;
    assert_int_equal(flame_parse(file.bytes, file.size_bytes, "test", &read, &error), ERROR);
    assert_non_null(strstr(error.text, "would not fit"));
    free(checked);
    file_free(&file);
    profile_free(profile);
}

static void trailing_bytes_are_refused(void **state)
{
    struct profile *profile = fixture_everything();
    struct file_bytes file = written(profile);

    (void)state;
    assert_refused(file.bytes, file.size_bytes + 1); /* file_read leaves a 0 there */
    file_free(&file);
    profile_free(profile);
}

static void list_root_twice(struct profile *profile)
{
    struct root root = profile->roots[0];

    *array_push(profile->roots, profile->root_count, profile->root_capacity) = root;
}

/* Each line breaks one invariant of a good profile. */
static void broken_invariants_are_found(void **state)
{
    enum { KINDS = 14 };
    static const char *const expected[KINDS] = {
        "parent is out of range",
        "function is out of range",
        "site is out of range",
        "name is out of range",
        "hangs under no root",
        "do not add up",
        "not sorted",
        "exceed 64 bits",
        "frames out of range",
        "pieces out of range",
        "lengths out of range",
        "is listed twice",
        "kind is out of range",
        "has a caller",
    };

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct profile *p = fixture_everything();
        struct error error = {0};
        switch (kind) {
        case 0:
            p->contexts[2].parent = 2;
            break;
        case 1:
            p->contexts[2].function = (uint32_t)p->function_count;
            break;
        case 2:
            p->contexts[2].site = (uint32_t)p->site_count;
            break;
        case 3:
            p->functions[0].name = (uint32_t)p->string_count;
            break;
        case 4:
            p->root_count = 0;
            break;
        case 5:
            p->contexts[2].self_instructions++;
            break;
        case 6:
            p->counts[0].context = 3;
            break;
        case 7:
            p->contexts[2].calls = p->contexts[3].calls = UINT64_MAX;
            break;
        case 8:
            p->locations[0].count = 100;
            break;
        case 9:
            p->blocks[0].first_piece = 100;
            break;
        case 10:
            p->blocks[0].first_length = 100;
            break;
        case 11:
            list_root_twice(p);
            break;
        case 12:
            p->functions[1].kind = 200;
            break;
        case 13:
            p->roots[0].context = 1;
            break;
        }
        assert_int_equal(profile_check(p, "test", &error), ERROR);
        if (!strstr(error.text, expected[kind]))
            fail_msg("expected '%s', got '%s'", expected[kind], error.text);
        profile_free(p);
    }
}

static void interning_finds_what_is_there(void **state)
{
    struct profile *profile = profile_new();
    char name[32];

    (void)state;
    assert_int_equal(profile_intern(profile, ""), 0);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "name %u", i);
        assert_int_equal(profile_intern(profile, name), i + 1);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "name %u", i);
        assert_int_equal(profile_intern(profile, name), i + 1);
        assert_string_equal(profile_string(profile, i + 1), name);
    }
    profile_free(profile);
}

static void writing_replaces_the_file_and_leaves_nothing_else(void **state)
{
    char folder[] = "/tmp/trueflame-unit-XXXXXX", path[64];
    struct profile *profile = fixture_everything();
    struct error error;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.flame", folder);
    assert_int_equal(flame_write(profile, path, &error), OK);
    assert_int_equal(flame_write(profile, path, &error), OK);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* so the folder was empty */
    assert_int_equal(flame_write(profile, path, &error), ERROR);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(flame_write(profile, "/dev/null", &error), OK);
    assert_int_equal(system("test -c /dev/null"), 0);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(extreme_values_come_back),
        cmocka_unit_test(only_the_run_section_knows_the_machine),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_altered_byte_is_refused),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(trailing_bytes_are_refused),
        cmocka_unit_test(broken_invariants_are_found),
        cmocka_unit_test(interning_finds_what_is_there),
        cmocka_unit_test(writing_replaces_the_file_and_leaves_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

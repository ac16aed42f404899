/*
 * test_jitdump.c: jitdumps built byte by byte: every kind of record, both byte orders, files that
 * grow, and records that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/jitdump.h"

/* ---- a small writer ---- */

struct dump {
    uint8_t bytes[4096];
    size_t length, record;
    bool swapped;
};

static void put(struct dump *dump, const void *bytes, size_t count)
{
    memcpy(dump->bytes + dump->length, bytes, count);
    dump->length += count;
}

static void put_u32(struct dump *dump, uint32_t value)
{
    value = dump->swapped ? __builtin_bswap32(value) : value;
    put(dump, &value, sizeof value);
}

static void put_u64(struct dump *dump, uint64_t value)
{
    value = dump->swapped ? __builtin_bswap64(value) : value;
    put(dump, &value, sizeof value);
}

static void put_header(struct dump *dump)
{
    put_u32(dump, 0x4A695444);
    put_u32(dump, 1);
    put_u32(dump, 40);
    put_u32(dump, 62);
    put_u32(dump, 0xdeadbeef);
    put_u32(dump, 1234);
    put_u64(dump, 999);
    put_u64(dump, 0);
}

static void begin(struct dump *dump, uint32_t id, uint64_t time)
{
    dump->record = dump->length;
    put_u32(dump, id);
    put_u32(dump, 0);
    put_u64(dump, time);
}

static void end_with(struct dump *dump, size_t total_bytes)
{
    size_t length = dump->length;

    dump->length = dump->record + 4;
    put_u32(dump, (uint32_t)total_bytes);
    dump->length = length;
}

static void end(struct dump *dump)
{
    end_with(dump, dump->length - dump->record);
}

static void put_load(struct dump *dump, uint64_t address, const char *name, const char *code,
                     uint64_t code_bytes, uint64_t index, uint64_t time)
{
    begin(dump, 0, time);
    put_u32(dump, 1234);
    put_u32(dump, 1235);
    put_u64(dump, address);
    put_u64(dump, address);
    put_u64(dump, code_bytes);
    put_u64(dump, index);
    put(dump, name, strlen(name) + 1);
    put(dump, code, strlen(code));
    end(dump);
}

static void put_move(struct dump *dump, uint64_t from, uint64_t to, uint64_t bytes)
{
    begin(dump, 1, 5);
    put_u32(dump, 1234);
    put_u32(dump, 1235);
    put_u64(dump, to);
    put_u64(dump, from);
    put_u64(dump, to);
    put_u64(dump, bytes);
    put_u64(dump, 7);
    end(dump);
}

static void put_line(struct dump *dump, uint64_t address, uint32_t line, const char *file)
{
    put_u64(dump, address);
    put_u32(dump, line);
    put_u32(dump, 3);
    put(dump, file, strlen(file) + 1);
}

static struct jitdump_reader open_dump(const struct dump *dump)
{
    struct jitdump_reader reader;

    assert_null(jitdump_open(&reader, dump->bytes, dump->length));
    return reader;
}

static void assert_open_fails(const struct dump *dump, size_t length, const char *words)
{
    struct jitdump_reader reader;

    const char *complaint = jitdump_open(&reader, dump->bytes, length);

    assert_non_null(complaint);
    assert_non_null(strstr(complaint, words));
}

/* ---- the tests ---- */

static void check_every_kind(bool swapped)
{
    struct dump dump = {.swapped = swapped};
    struct jitdump_record record;
    struct jitdump_line line;

    put_header(&dump);
    begin(&dump, 2, 1);
    put_u64(&dump, 0x1000);
    put_u64(&dump, 3);
    put_line(&dump, 0x1000, 10, "a.js");
    put_line(&dump, 0x1004, 11, "\xff");
    put_line(&dump, 0x1008, 4, "b.js");
    end(&dump);
    begin(&dump, 4, 2);
    put_u64(&dump, 7);
    put_u64(&dump, 3);
    put_u64(&dump, 16);
    put(&dump, "framHDR", 7);
    end(&dump);
    put_load(&dump, 0x1000, "JS:*f a.js:10:1", "code", 4, 7, 3);
    put_move(&dump, 0x1000, 0x2000, 4);
    begin(&dump, 99, 6);
    put(&dump, "whatever", 8);
    end(&dump);
    begin(&dump, 3, 8);
    end(&dump);

    struct jitdump_reader reader = open_dump(&dump);
    assert_int_equal(reader.swapped, swapped);
    assert_int_equal(reader.elf_machine, 62);
    assert_int_equal(reader.pid, 1234);
    assert_int_equal(reader.time, 999);
    assert_false(reader.processor_time);

    assert_true(jitdump_next(&reader, &record));
    assert_int_equal(record.kind, JITDUMP_LINES);
    assert_int_equal(record.lines.code_address, 0x1000);
    assert_true(jitdump_next_line(&record.lines, &line));
    assert_int_equal(line.address, 0x1000);
    assert_int_equal(line.line, 10);
    assert_int_equal(line.discriminator, 3);
    assert_string_equal(line.file, "a.js");
    assert_true(jitdump_next_line(&record.lines, &line));
    assert_int_equal(line.line, 11);
    assert_string_equal(line.file, "a.js");
    assert_true(jitdump_next_line(&record.lines, &line));
    assert_string_equal(line.file, "b.js");
    assert_false(jitdump_next_line(&record.lines, &line));

    assert_true(jitdump_next(&reader, &record));
    assert_int_equal(record.kind, JITDUMP_UNWIND);
    assert_int_equal(record.unwind.eh_frame_bytes, 4);
    assert_int_equal(record.unwind.eh_frame_hdr_bytes, 3);
    assert_int_equal(record.unwind.mapped_bytes, 16);
    assert_memory_equal(record.unwind.eh_frame, "framHDR", 7);

    assert_true(jitdump_next(&reader, &record));
    assert_int_equal(record.kind, JITDUMP_LOAD);
    assert_int_equal(record.time, 3);
    assert_int_equal(record.load.pid, 1234);
    assert_int_equal(record.load.tid, 1235);
    assert_int_equal(record.load.code_address, 0x1000);
    assert_int_equal(record.load.code_index, 7);
    assert_string_equal(record.load.name, "JS:*f a.js:10:1");
    assert_memory_equal(record.load.code, "code", 4);

    assert_true(jitdump_next(&reader, &record));
    assert_int_equal(record.kind, JITDUMP_MOVE);
    assert_int_equal(record.move.old_address, 0x1000);
    assert_int_equal(record.move.new_address, 0x2000);

    assert_true(jitdump_next(&reader, &record));
    assert_int_equal(record.kind, JITDUMP_CLOSE);
    assert_int_equal(record.time, 8);
    assert_false(jitdump_next(&reader, &record));
    assert_int_equal(reader.unknown_records, 1);
    assert_int_equal(reader.bad_records, 0);
}

static void test_every_kind(void **state)
{
    (void)state;
    check_every_kind(false);
}

static void test_the_other_byte_order(void **state)
{
    (void)state;
    check_every_kind(true);
}

static void test_an_address_used_again(void **state)
{
    struct dump dump = {0};
    struct jitdump_record record;

    (void)state;
    put_header(&dump);
    put_load(&dump, 0x1000, "first", "c1", 2, 0, 10);
    put_load(&dump, 0x1000, "second", "c2", 2, 1, 20);
    struct jitdump_reader reader = open_dump(&dump);
    assert_true(jitdump_next(&reader, &record));
    assert_string_equal(record.load.name, "first");
    assert_int_equal(record.time, 10);
    assert_true(jitdump_next(&reader, &record));
    assert_string_equal(record.load.name, "second");
    assert_int_equal(record.time, 20);
}

static void test_a_file_that_grows(void **state)
{
    struct dump dump = {0};
    struct jitdump_record record;
    struct jitdump_reader reader;
    size_t first_end, loads = 0;

    (void)state;
    put_header(&dump);
    put_load(&dump, 0x1000, "first", "c1", 2, 0, 10);
    first_end = dump.length;
    put_load(&dump, 0x2000, "second", "c2", 2, 1, 20);
    assert_open_fails(&dump, 39, "too short");
    assert_null(jitdump_open(&reader, dump.bytes, 40));
    for (size_t length = 40; length <= dump.length; length++) {
        jitdump_extend(&reader, dump.bytes, length);
        while (jitdump_next(&reader, &record))
            loads++;
        assert_int_equal(loads, (length >= first_end) + (length == dump.length));
    }
    assert_int_equal(reader.bad_records, 0);
}

static void test_headers_that_are_none(void **state)
{
    struct dump dump = {0};

    (void)state;
    put_header(&dump);
    assert_open_fails(&dump, 0, "too short");
    dump.bytes[0] ^= 1;
    assert_open_fails(&dump, 40, "not a jitdump");
    dump.bytes[0] ^= 1;
    dump.bytes[4] = 2;
    assert_open_fails(&dump, 40, "version that is not known");
    dump.bytes[4] = 1;
    dump.bytes[8] = 39;
    assert_open_fails(&dump, 40, "header is too short");
}

static void test_a_longer_header_is_skipped(void **state)
{
    struct dump dump = {0};
    struct jitdump_record record;

    (void)state;
    put_header(&dump);
    dump.bytes[8] = 48;
    put_u64(&dump, 0x1122334455667788);
    put_load(&dump, 0x1000, "f", "c", 1, 0, 1);
    struct jitdump_reader reader = open_dump(&dump);
    assert_true(jitdump_next(&reader, &record));
    assert_string_equal(record.load.name, "f");
}

/* Each lie costs its own record; the one behind it is read. */
static void test_records_that_lie(void **state)
{
    struct dump dump = {0};
    struct jitdump_record record;

    (void)state;
    put_header(&dump);
    put_load(&dump, 0x1000, "more code than there is", "c", 2, 0, 1);
    put_load(&dump, 0x1000, "a huge size", "c", UINT64_MAX, 0, 1);
    put_load(&dump, UINT64_MAX, "wraps around", "cc", 2, 0, 1);
    put_load(&dump, 0x1000, "no code", "", 0, 0, 1);
    put_move(&dump, 0x1000, UINT64_MAX, 2);
    begin(&dump, 0, 1);
    put_u64(&dump, 0); /* a record cut short */
    end(&dump);
    begin(&dump, 0, 1); /* a name without an end */
    for (int i = 0; i < 5; i++)
        put_u64(&dump, 1);
    put(&dump, "name", 4);
    end(&dump);
    begin(&dump, 4, 1); /* more header than data */
    put_u64(&dump, 2);
    put_u64(&dump, 3);
    put_u64(&dump, 16);
    put(&dump, "xx", 2);
    end(&dump);
    put_load(&dump, 0x3000, "honest", "c", 1, 0, 2);
    struct jitdump_reader reader = open_dump(&dump);
    assert_true(jitdump_next(&reader, &record));
    assert_string_equal(record.load.name, "honest");
    assert_false(jitdump_next(&reader, &record));
    assert_int_equal(reader.bad_records, 8);
}

static void test_a_record_too_short_to_be_one(void **state)
{
    struct dump dump = {0};
    struct jitdump_record record;

    (void)state;
    put_header(&dump);
    put_load(&dump, 0x1000, "before", "c", 1, 0, 2);
    begin(&dump, 3, 1);
    end_with(&dump, 15);
    put_load(&dump, 0x1000, "after", "c", 1, 0, 2);
    struct jitdump_reader reader = open_dump(&dump);
    assert_true(jitdump_next(&reader, &record));
    assert_false(jitdump_next(&reader, &record));
    assert_false(jitdump_next(&reader, &record));
    assert_true(reader.lost);
    assert_int_equal(reader.bad_records, 1);
}

static void test_lines_that_lie(void **state)
{
    struct dump dump = {0};
    struct jitdump_record record;
    struct jitdump_line line;

    (void)state;
    put_header(&dump);
    begin(&dump, 2, 1);
    put_u64(&dump, 0x1000);
    put_u64(&dump, UINT64_MAX);
    put_line(&dump, 0x1000, 1, "a");
    end(&dump);
    begin(&dump, 2, 1);
    put_u64(&dump, 0x1000);
    put_u64(&dump, 1);
    put_line(&dump, 0x1000, 1, "\xff"); /* repeats nothing */
    end(&dump);
    begin(&dump, 2, 1);
    put_u64(&dump, 0x1000);
    put_u64(&dump, 1);
    put_line(&dump, 0x1000, 1, "unended");
    dump.length--;
    end(&dump);
    struct jitdump_reader reader = open_dump(&dump);
    assert_true(jitdump_next(&reader, &record));
    assert_true(jitdump_next_line(&record.lines, &line));
    assert_false(jitdump_next_line(&record.lines, &line));
    assert_false(jitdump_next_line(&record.lines, &line));
    for (int i = 0; i < 2; i++) {
        assert_true(jitdump_next(&reader, &record));
        assert_false(jitdump_next_line(&record.lines, &line));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_the_other_byte_order),
        cmocka_unit_test(test_an_address_used_again),
        cmocka_unit_test(test_a_file_that_grows),
        cmocka_unit_test(test_headers_that_are_none),
        cmocka_unit_test(test_a_longer_header_is_skipped),
        cmocka_unit_test(test_records_that_lie),
        cmocka_unit_test(test_a_record_too_short_to_be_one),
        cmocka_unit_test(test_lines_that_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

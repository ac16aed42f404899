/*
 * fuzz_elf.c: symbol tables of files that may be anything. Spans must stay sorted and apart, and
 * every address must find a symbol that covers it, or none.
 */
#include "symbols/symbol_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(int holds)
{
    if (!holds)
        abort();
}

static void check_table(const struct symbol_table *table)
{
    for (size_t i = 0; i < table->span_count; i++) {
        const struct symbol_span *span = &table->spans[i];
        check(span->start < span->end);
        check(i == 0 || table->spans[i - 1].end <= span->start);
        check(span->symbol < table->symbol_count);
        check(symbol_table_find(table, span->start) != NULL);
        check(symbol_table_find_start(table, span->end - 1) != NULL);
    }
    for (size_t i = 1; i < table->symbol_count; i++)
        check(table->symbols[i - 1].start < table->symbols[i].start);
    for (size_t i = 0; i < table->label_count; i++)
        check(symbol_table_find_start(table, table->labels[i].start) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct elf_file file;
    struct error error;
    int descriptor = memfd_create("module", MFD_CLOEXEC);

    check(write(descriptor, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (elf_file_open(&file, path, &error) == OK) {
        struct symbol_table table = {0};
        symbol_table_read(&table, &file);
        symbol_table_finish(&table, &file);
        check_table(&table);
        symbol_table_free(&table);
        elf_file_close(&file);
    }
    close(descriptor);
    return 0;
}

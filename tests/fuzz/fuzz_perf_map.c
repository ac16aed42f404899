/*
 * fuzz_perf_map.c: a map that may be anything, in pieces that end anywhere. Entries are as
 * promised, and how the bytes were cut does not change them.
 */
#include "core/perf_map.h"

#include <stdlib.h>
#include <string.h>

static void check(void *context, const struct perf_map_entry *entry)
{
    uint64_t *sum = context;

    if (!entry->size_bytes || entry->start + (entry->size_bytes - 1) < entry->start ||
        !entry->name_length || entry->name_length > PERF_MAP_LONGEST_NAME_BYTES ||
        memchr(entry->name, '\n', entry->name_length))
        abort();
    *sum = *sum * 31 + entry->start;
    *sum = *sum * 31 + entry->size_bytes;
    for (size_t i = 0; i < entry->name_length; i++)
        *sum = *sum * 31 + (unsigned char)entry->name[i];
}

static uint64_t parse(const char *text, size_t size, size_t piece)
{
    struct perf_map_parser *parser = calloc(1, sizeof *parser);
    uint64_t sum = 0;

    for (size_t at = 0; at < size; at += piece)
        perf_map_feed(parser, text + at, size - at < piece ? size - at : piece, check, &sum);
    perf_map_finish(parser, check, &sum);
    free(parser);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const char *text = (const char *)data + 1;
    if (parse(text, size - 1, size) != parse(text, size - 1, data[0] % 64 + 1))
        abort();
    return 0;
}

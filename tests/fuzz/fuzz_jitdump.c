/*
 * fuzz_jitdump.c: a jitdump that may be anything, read at once and as it grows. Both give the same
 * records, and everything a record points to is there.
 */
#include "core/jitdump.h"

#include <stdlib.h>
#include <string.h>

static uint64_t sum_bytes(uint64_t sum, const void *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        sum = sum * 31 + ((const uint8_t *)bytes)[i];
    return sum;
}

static uint64_t sum_record(uint64_t sum, struct jitdump_record *record)
{
    struct jitdump_line line;

    sum = sum * 31 + record->kind;
    switch (record->kind) {
    case JITDUMP_LOAD:
        sum = sum_bytes(sum, record->load.name, strlen(record->load.name));
        return sum_bytes(sum, record->load.code, record->load.code_bytes);
    case JITDUMP_LINES:
        while (jitdump_next_line(&record->lines, &line))
            sum = sum_bytes(sum * 31 + line.line, line.file, strlen(line.file));
        return sum;
    case JITDUMP_UNWIND:
        return sum_bytes(sum, record->unwind.eh_frame,
                         record->unwind.eh_frame_bytes + record->unwind.eh_frame_hdr_bytes);
    case JITDUMP_MOVE:
        return sum * 31 + record->move.new_address;
    case JITDUMP_CLOSE:
        return sum;
    }
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jitdump_reader whole, growing;
    struct jitdump_record record;
    uint64_t whole_sum = 0, growing_sum = 0;

    if (jitdump_open(&whole, data, size))
        return 0;
    while (jitdump_next(&whole, &record))
        whole_sum = sum_record(whole_sum, &record);
    if (jitdump_open(&growing, data, size))
        abort();
    for (size_t length = 40; length <= size; length++) {
        /* A copy of just that length, so that reading past it is found out. */
        uint8_t *copy = malloc(length);
        memcpy(copy, data, length);
        jitdump_extend(&growing, copy, length);
        while (jitdump_next(&growing, &record))
            growing_sum = sum_record(growing_sum, &record);
        free(copy);
    }
    if (whole_sum != growing_sum)
        abort();
    return 0;
}

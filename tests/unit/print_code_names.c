/*
 * print_code_names.c: prints what the readers of perf maps and jitdumps find in a file, for the
 * tests to compare with what others find there.
 *
 *     print_code_names map FILE       START SIZE NAME                        one line an entry
 *     print_code_names jitdump FILE   load TIME START SIZE CODE-CHECKSUM NAME, move TIME OLD NEW
 * SIZE, line ADDRESS LINE FILE, unwind EH_FRAME EH_FRAME_HDR, close
 */
#include "core/jitdump.h"
#include "core/perf_map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_entry(void *context, const struct perf_map_entry *entry)
{
    (void)context;
    printf("%" PRIx64 " %" PRIx64 " %.*s\n", entry->start, entry->size_bytes,
           (int)entry->name_length, entry->name);
}

static int print_map(const char *path)
{
    static struct perf_map_file file;

    file.path = path;
    file.owner = geteuid();
    const char *complaint = perf_map_close(&file, print_entry, NULL);
    if (complaint) {
        fprintf(stderr, "%s %s\n", path, complaint);
        return 1;
    }
    fprintf(stderr, "%" PRIu64 " bad lines\n", file.parser.bad_lines);
    return 0;
}

static uint32_t checksum(const uint8_t *bytes, uint64_t count)
{
    uint32_t sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

static void print_record(struct jitdump_record *record)
{
    struct jitdump_line line;

    switch (record->kind) {
    case JITDUMP_LOAD:
        printf("load %" PRIu64 " %" PRIx64 " %" PRIx64 " %" PRIx32 " %s\n", record->time,
               record->load.code_address, record->load.code_bytes,
               checksum(record->load.code, record->load.code_bytes), record->load.name);
        break;
    case JITDUMP_MOVE:
        printf("move %" PRIu64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", record->time,
               record->move.old_address, record->move.new_address, record->move.code_bytes);
        break;
    case JITDUMP_LINES:
        while (jitdump_next_line(&record->lines, &line))
            printf("line %" PRIx64 " %" PRIu32 " %s\n", line.address, line.line, line.file);
        break;
    case JITDUMP_UNWIND:
        printf("unwind %" PRIu64 " %" PRIu64 "\n", record->unwind.eh_frame_bytes,
               record->unwind.eh_frame_hdr_bytes);
        break;
    case JITDUMP_CLOSE:
        puts("close");
        break;
    }
}

static int print_jitdump(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct jitdump_reader reader;
    struct jitdump_record record;
    struct stat status;

    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        return 1;
    size_t size_bytes = (size_t)status.st_size;
    void *bytes = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED)
        return 1;
    const char *complaint = jitdump_open(&reader, bytes, size_bytes);
    if (complaint) {
        fprintf(stderr, "%s %s\n", path, complaint);
        return 1;
    }
    while (jitdump_next(&reader, &record))
        print_record(&record);
    fprintf(stderr, "%" PRIu64 " bad, %" PRIu64 " unknown\n", reader.bad_records,
            reader.unknown_records);
    munmap(bytes, size_bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "map") == 0)
        return print_map(argv[2]);
    if (argc == 3 && strcmp(argv[1], "jitdump") == 0)
        return print_jitdump(argv[2]);
    return 2;
}

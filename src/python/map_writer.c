#include "python/map_writer.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "python/output.h"

static struct output map = OUTPUT_CLOSED;

static int map_open(struct output *output, struct error *error)
{
    char path[64];

    /* The directory is the format's: readers look nowhere else. */
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    return output_create_or_join(output, path, error);
}

int map_writer_open(struct error *error)
{
    return map_open(&map, error);
}

int map_writer_add(const void *address, size_t size_bytes, const char *name, size_t name_length,
                   struct error *error)
{
    char prefix[40];
    int length =
        snprintf(prefix, sizeof prefix, "%jx %zx ", (uintmax_t)(uintptr_t)address, size_bytes);
    struct iovec pieces[] = {
        {.iov_base = prefix, .iov_len = (size_t)length},
        {.iov_base = (char *)name, .iov_len = name_length},
        {.iov_base = "\n", .iov_len = 1},
    };
    return output_append(&map, pieces, 3, error);
}

int map_writer_after_fork(struct error *error)
{
    struct output inherited = map;

    map = (struct output)OUTPUT_CLOSED;
    int result = map_open(&map, error);
    if (result == OK)
        result = output_copy(&map, &inherited, error);
    output_close(&inherited);
    return result;
}

const char *map_writer_path(void)
{
    return map.path;
}

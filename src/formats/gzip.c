#include "formats/gzip.h"

#include "common/memory.h"
#include <string.h>

#define STEP_BYTES  (64 * 1024)
#define WINDOW_GZIP (15 + 16) /* zlib's way of asking for gzip */

void gzip_start(struct gzip *gzip, FILE *stream)
{
    *gzip = (struct gzip){.stream = stream};
    int result = deflateInit2(&gzip->state, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, 8,
                              Z_DEFAULT_STRATEGY);
    if (result != Z_OK)
        memory_allocate(SIZE_MAX); /* the only way it fails: no memory */
}

static void pump(struct gzip *gzip, int flush)
{
    uint8_t packed[STEP_BYTES];

    do {
        gzip->state.next_out = packed;
        gzip->state.avail_out = sizeof packed;
        deflate(&gzip->state, flush);
        fwrite(packed, 1, sizeof packed - gzip->state.avail_out, gzip->stream);
    } while (gzip->state.avail_out == 0);
}

void gzip_write(struct gzip *gzip, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;

    while (count) {
        uInt step = count > STEP_BYTES ? STEP_BYTES : (uInt)count;
        gzip->state.next_in = (Bytef *)at;
        gzip->state.avail_in = step;
        pump(gzip, Z_NO_FLUSH);
        at += step;
        count -= step;
    }
}

void gzip_finish(struct gzip *gzip)
{
    gzip->state.avail_in = 0;
    pump(gzip, Z_FINISH);
    deflateEnd(&gzip->state);
}

int gzip_unpack(const uint8_t *bytes, size_t count, size_t most_bytes, struct file_bytes *plain)
{
    z_stream state = {0};
    size_t capacity = STEP_BYTES;
    int result = Z_OK;

    *plain = (struct file_bytes){.bytes = memory_allocate(capacity)};
    if (count > UINT32_MAX || inflateInit2(&state, WINDOW_GZIP) != Z_OK) {
        file_free(plain);
        return ERROR;
    }
    state.next_in = (Bytef *)bytes;
    state.avail_in = (uInt)count;
    while (result == Z_OK && plain->size_bytes <= most_bytes) {
        plain->bytes = memory_grow(plain->bytes, &capacity, plain->size_bytes + STEP_BYTES + 1, 1);
        state.next_out = plain->bytes + plain->size_bytes;
        state.avail_out = STEP_BYTES;
        result = inflate(&state, Z_NO_FLUSH);
        plain->size_bytes += STEP_BYTES - state.avail_out;
        if (result == Z_STREAM_END && state.avail_in > 0)
            result = inflateReset(&state); /* gzip files may follow one another */
    }
    inflateEnd(&state);
    if (result != Z_STREAM_END) {
        file_free(plain);
        return ERROR;
    }
    plain->bytes[plain->size_bytes] = 0;
    return OK;
}

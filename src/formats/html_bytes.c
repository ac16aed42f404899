#include "formats/html_bytes.h"

#include "common/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 49152 /* a multiple of three: no padding inside */

void html_bytes_append(struct html_bytes *bytes, const void *from, size_t count)
{
    bytes->bytes = memory_grow(bytes->bytes, &bytes->capacity, bytes->count + count, 1);
    if (count)
        memcpy(bytes->bytes + bytes->count, from, count);
    bytes->count += count;
}

void html_bytes_number(struct html_bytes *bytes, uint64_t number)
{
    uint8_t encoded[10];
    size_t count = 0;

    for (; number > 127; number >>= 7)
        encoded[count++] = (uint8_t)(number | 128);
    encoded[count++] = (uint8_t)number;
    html_bytes_append(bytes, encoded, count);
}

void html_bytes_free(struct html_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct html_bytes){0};
}

static void put_base64(FILE *file, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[CHUNK_BYTES / 3 * 4 + 8], *end = text;

    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        bits |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        bits |= left > 2 ? bytes[i + 2] : 0;
        *end++ = digits[bits >> 18];
        *end++ = digits[bits >> 12 & 63];
        *end++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *end++ = left > 2 ? digits[bits & 63] : '=';
    }
    fwrite(text, 1, (size_t)(end - text), file);
}

/* Writes what is compressed, in threes; keeps the rest for the next time. */
static void put_compressed(struct html_stream *stream, uint8_t *chunk, size_t count)
{
    uint8_t joined[CHUNK_BYTES + 3];

    memcpy(joined, stream->rest, stream->rest_count);
    memcpy(joined + stream->rest_count, chunk, count);
    count += stream->rest_count;
    stream->rest_count = count % 3;
    count -= stream->rest_count;
    put_base64(stream->stream, joined, count);
    memcpy(stream->rest, joined + count, stream->rest_count);
}

static void deflate_input(struct html_stream *stream, int flush)
{
    uint8_t chunk[CHUNK_BYTES - 3];

    do {
        stream->deflate.next_out = chunk;
        stream->deflate.avail_out = sizeof chunk;
        int result = deflate(&stream->deflate, flush);
        assert(result != Z_STREAM_ERROR);
        (void)result;
        put_compressed(stream, chunk, sizeof chunk - stream->deflate.avail_out);
    } while (stream->deflate.avail_out == 0);
}

void html_stream_start(struct html_stream *stream, FILE *file)
{
    *stream = (struct html_stream){.stream = file};
    if (deflateInit(&stream->deflate, 6) != Z_OK)
        memory_allocate(SIZE_MAX); /* zlib fails for want of memory only: say so and stop */
}

void html_stream_write(struct html_stream *stream, const struct html_bytes *bytes)
{
    size_t written = 0;

    while (written < bytes->count) {
        size_t piece = bytes->count - written;
        if (piece > 1u << 30)
            piece = 1u << 30;
        stream->deflate.next_in = bytes->bytes + written;
        stream->deflate.avail_in = (uInt)piece;
        deflate_input(stream, Z_NO_FLUSH);
        written += piece;
    }
}

void html_stream_finish(struct html_stream *stream)
{
    stream->deflate.next_in = NULL;
    stream->deflate.avail_in = 0;
    deflate_input(stream, Z_FINISH);
    deflateEnd(&stream->deflate);
    put_base64(stream->stream, stream->rest, stream->rest_count);
}

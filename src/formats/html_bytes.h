/*
 * html_bytes.h: the bytes of a page's data: varints gathered in memory, then compressed and
 * written as base64, in pieces, so that no second copy of them is made.
 */
#ifndef TRUEFLAME_HTML_BYTES_H
#define TRUEFLAME_HTML_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

/* Zeroed is empty; free with html_bytes_free. */
struct html_bytes {
    uint8_t *bytes;
    size_t count, capacity;
};

/* LEB128: seven bits a byte, the lowest first. */
void html_bytes_number(struct html_bytes *bytes, uint64_t number);
void html_bytes_append(struct html_bytes *bytes, const void *from, size_t count);
void html_bytes_free(struct html_bytes *bytes);

struct html_stream {
    z_stream deflate;
    FILE *stream;
    uint8_t rest[3]; /* less than three bytes: base64 takes three at a time */
    size_t rest_count;
};

void html_stream_start(struct html_stream *stream, FILE *file);
void html_stream_write(struct html_stream *stream, const struct html_bytes *bytes);
void html_stream_finish(struct html_stream *stream);

#endif

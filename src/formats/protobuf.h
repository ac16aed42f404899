/*
 * protobuf.h: the few encodings of protocol buffers that pprof needs, written into a buffer.
 */
#ifndef TRUEFLAME_PROTOBUF_H
#define TRUEFLAME_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct protobuf {
    uint8_t *bytes;
    size_t count, capacity;
};

enum protobuf_wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void protobuf_varint(struct protobuf *buffer, uint64_t value);

/* A field that is a number; 0 is the default and not written. */
void protobuf_number(struct protobuf *buffer, unsigned field, uint64_t value);
void protobuf_bytes(struct protobuf *buffer, unsigned field, const void *bytes, size_t count);
void protobuf_text(struct protobuf *buffer, unsigned field, const char *text);
void protobuf_message(struct protobuf *buffer, unsigned field, const struct protobuf *message);
void protobuf_free(struct protobuf *buffer);

#endif

#include "formats/protobuf.h"

#include "common/memory.h"
#include <stdlib.h>
#include <string.h>

void protobuf_varint(struct protobuf *buffer, uint64_t value)
{
    buffer->bytes = memory_grow(buffer->bytes, &buffer->capacity, buffer->count + 10, 1);
    for (; value >= 0x80; value >>= 7)
        buffer->bytes[buffer->count++] = (uint8_t)value | 0x80;
    buffer->bytes[buffer->count++] = (uint8_t)value;
}

void protobuf_number(struct protobuf *buffer, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    protobuf_varint(buffer, field << 3 | WIRE_VARINT);
    protobuf_varint(buffer, value);
}

void protobuf_bytes(struct protobuf *buffer, unsigned field, const void *bytes, size_t count)
{
    protobuf_varint(buffer, field << 3 | WIRE_BYTES);
    protobuf_varint(buffer, count);
    buffer->bytes = memory_grow(buffer->bytes, &buffer->capacity, buffer->count + count, 1);
    if (count)
        memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
}

void protobuf_text(struct protobuf *buffer, unsigned field, const char *text)
{
    protobuf_bytes(buffer, field, text, strlen(text));
}

void protobuf_message(struct protobuf *buffer, unsigned field, const struct protobuf *message)
{
    protobuf_bytes(buffer, field, message->bytes, message->count);
}

void protobuf_free(struct protobuf *buffer)
{
    free(buffer->bytes);
    *buffer = (struct protobuf){0};
}

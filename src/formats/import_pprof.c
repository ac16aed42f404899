/*
 * import_pprof.c: profile.proto, plain or gzip.
 *
 * Two passes over the message: the first collects the tables (strings, functions, mappings,
 * locations), which may stand after the samples; the second adds the samples. The value that
 * counts is the default sample type, else the last one; a type called "calls" gives calls. Nothing
 * is believed: lengths are compared with what is left, ids are looked up.
 */
#include "common/map.h"
#include "common/memory.h"
#include "formats/formats.h"
#include "formats/gzip.h"
#include "formats/protobuf.h"
#include "profile/make.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PLAIN_BYTES ((size_t)4 << 30)

struct bytes {
    const uint8_t *at, *end;
    bool failed;
};

struct field {
    unsigned number;
    enum protobuf_wire wire;
    uint64_t value;     /* numbers */
    struct bytes bytes; /* texts, messages, packed numbers */
};

static uint64_t get_varint(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    bytes->failed = true;
    return 0;
}

/* The next field of a message; false at its end, or when it makes no sense. */
static bool get_field(struct bytes *message, struct field *field)
{
    if (message->failed || message->at == message->end)
        return false;
    uint64_t tag = get_varint(message);
    *field = (struct field){.number = (unsigned)(tag >> 3), .wire = (enum protobuf_wire)(tag & 7)};
    size_t left = (size_t)(message->end - message->at), length = 0;
    switch (field->wire) {
    case WIRE_VARINT:
        field->value = get_varint(message);
        return !message->failed;
    case WIRE_FIXED64:
        length = 8;
        break;
    case WIRE_FIXED32:
        length = 4;
        break;
    case WIRE_BYTES:
        field->value = get_varint(message);
        left = (size_t)(message->end - message->at);
        length = field->value > left ? left + 1 : field->value;
        break;
    default:
        message->failed = true;
        return false;
    }
    if (message->failed || length > left) {
        message->failed = true;
        return false;
    }
    field->bytes = (struct bytes){message->at, message->at + length, false};
    message->at += length;
    return true;
}

struct pprof_function {
    uint64_t name, file, line;
    uint32_t function; /* in the profile; NONE: not made yet. Depends on the object, see below */
};

struct pprof_location {
    uint64_t mapping;
    size_t first_line, line_count; /* in `lines`, innermost first */
};

struct reader {
    struct profile_maker maker;
    struct bytes *strings;
    size_t string_count, string_capacity;
    struct pprof_function *functions;
    size_t function_count, function_capacity;
    struct pprof_location *locations;
    size_t location_count, location_capacity;
    uint64_t *lines; /* function ids */
    size_t line_count, line_capacity;
    uint64_t *mapping_files, *mapping_builds;
    size_t mapping_count, mapping_capacity, build_capacity;
    uint64_t *types; /* string of each sample type */
    size_t type_count, type_capacity;
    uint64_t default_type;
    struct map function_ids, location_ids, mapping_ids;
    size_t value_at, calls_at;
    uint64_t *stack, *values;
    size_t stack_count, stack_capacity, value_count, value_capacity;
    bool failed;
};

/* A string as text that stays until the next call. */
static char *text_of(struct reader *reader, uint64_t number)
{
    if (number >= reader->string_count) {
        reader->failed = true;
        return memory_duplicate_string("");
    }
    const struct bytes *string = &reader->strings[number];
    size_t length = (size_t)(string->end - string->at);
    char *text = memory_allocate(length + 1);
    memcpy(text, string->at, length);
    text[length] = 0;
    return text;
}

static void note_id(struct reader *reader, struct map *ids, uint64_t id, size_t row)
{
    uint32_t *place = map_place(ids, id);

    if (id == 0 || *place != MAP_ABSENT)
        reader->failed = true;
    *place = (uint32_t)row;
}

static void read_function(struct reader *reader, struct bytes message)
{
    struct pprof_function row = {.function = NONE};
    struct field field;
    uint64_t id = 0;

    while (get_field(&message, &field)) {
        if (field.number == 1)
            id = field.value;
        if (field.number == 2)
            row.name = field.value;
        if (field.number == 4)
            row.file = field.value;
        if (field.number == 5)
            row.line = field.value;
    }
    reader->failed |= message.failed;
    *array_push(reader->functions, reader->function_count, reader->function_capacity) = row;
    note_id(reader, &reader->function_ids, id, reader->function_count - 1);
}

static void read_line(struct reader *reader, struct bytes message)
{
    struct field field;
    uint64_t function = 0;

    while (get_field(&message, &field))
        if (field.number == 1)
            function = field.value;
    reader->failed |= message.failed;
    *array_push(reader->lines, reader->line_count, reader->line_capacity) = function;
}

static void read_location(struct reader *reader, struct bytes message)
{
    struct pprof_location row = {.first_line = reader->line_count};
    struct field field;
    uint64_t id = 0;

    while (get_field(&message, &field)) {
        if (field.number == 1)
            id = field.value;
        if (field.number == 2)
            row.mapping = field.value;
        if (field.number == 4)
            read_line(reader, field.bytes);
    }
    reader->failed |= message.failed;
    row.line_count = reader->line_count - row.first_line;
    *array_push(reader->locations, reader->location_count, reader->location_capacity) = row;
    note_id(reader, &reader->location_ids, id, reader->location_count - 1);
}

static void read_mapping(struct reader *reader, struct bytes message)
{
    struct field field;
    uint64_t id = 0, file = 0, build = 0;

    while (get_field(&message, &field)) {
        if (field.number == 1)
            id = field.value;
        if (field.number == 5)
            file = field.value;
        if (field.number == 6)
            build = field.value;
    }
    reader->failed |= message.failed;
    size_t count = reader->mapping_count;
    *array_push(reader->mapping_files, reader->mapping_count, reader->mapping_capacity) = file;
    *array_push(reader->mapping_builds, count, reader->build_capacity) = build;
    note_id(reader, &reader->mapping_ids, id, reader->mapping_count - 1);
}

static void read_type(struct reader *reader, struct bytes message)
{
    struct field field;
    uint64_t type = 0;

    while (get_field(&message, &field))
        if (field.number == 1)
            type = field.value;
    reader->failed |= message.failed;
    *array_push(reader->types, reader->type_count, reader->type_capacity) = type;
}

static void read_tables(struct reader *reader, struct bytes message)
{
    struct field field;

    while (!reader->failed && get_field(&message, &field)) {
        if (field.wire != WIRE_BYTES) {
            if (field.number == 14)
                reader->default_type = field.value;
            continue;
        }
        switch (field.number) {
        case 1:
            read_type(reader, field.bytes);
            break;
        case 3:
            read_mapping(reader, field.bytes);
            break;
        case 4:
            read_location(reader, field.bytes);
            break;
        case 5:
            read_function(reader, field.bytes);
            break;
        case 6:
            *array_push(reader->strings, reader->string_count, reader->string_capacity) =
                field.bytes;
            break;
        }
    }
    reader->failed |= message.failed;
}

/* Which value counts, and which are calls (type_count: none). */
static void choose_values(struct reader *reader)
{
    reader->value_at = reader->type_count ? reader->type_count - 1 : 0;
    reader->calls_at = reader->type_count;
    for (size_t i = 0; i < reader->type_count; i++) {
        char *type = text_of(reader, reader->types[i]);
        if (reader->default_type && reader->types[i] == reader->default_type)
            reader->value_at = i;
        if (!strcmp(type, "calls"))
            reader->calls_at = i;
        free(type);
    }
    if (reader->calls_at == reader->value_at)
        reader->calls_at = reader->type_count;
}

static char *object_of(struct reader *reader, uint64_t mapping)
{
    uint32_t row = map_find(&reader->mapping_ids, mapping);

    if (mapping == 0)
        return memory_duplicate_string("");
    if (row == MAP_ABSENT) {
        reader->failed = true;
        return memory_duplicate_string("");
    }
    return text_of(reader, reader->mapping_files[row]);
}

/* A function is made once: for the object in which it is met first. */
static uint32_t function_of(struct reader *reader, uint64_t id, uint64_t mapping)
{
    uint32_t row = map_find(&reader->function_ids, id);

    if (row == MAP_ABSENT) {
        reader->failed = true;
        return 0;
    }
    struct pprof_function *function = &reader->functions[row];
    if (function->function == NONE) {
        struct profile *profile = reader->maker.profile;
        char *name = text_of(reader, function->name), *file = text_of(reader, function->file);
        char *object = object_of(reader, mapping);
        function->function = maker_function(&reader->maker, name, object);
        profile->functions[function->function].file = profile_intern(profile, file);
        profile->functions[function->function].line =
            function->line <= UINT32_MAX ? (uint32_t)function->line : 0;
        free(name);
        free(file);
        free(object);
    }
    return function->function;
}

/* A repeated number: packed, or one at a time. */
static void get_numbers(struct reader *reader, struct field *field, uint64_t **numbers,
                        size_t *count, size_t *capacity)
{
    if (field->wire == WIRE_VARINT) {
        *array_push(*numbers, *count, *capacity) = field->value;
        return;
    }
    while (field->bytes.at < field->bytes.end && !field->bytes.failed)
        *array_push(*numbers, *count, *capacity) = get_varint(&field->bytes);
    reader->failed |= field->bytes.failed;
}

static uint32_t stack_context(struct reader *reader)
{
    uint32_t context = 0;

    for (size_t i = reader->stack_count; i-- > 0 && !reader->failed;) {
        uint32_t row = map_find(&reader->location_ids, reader->stack[i]);
        if (row == MAP_ABSENT) {
            reader->failed = true;
            break;
        }
        const struct pprof_location *location = &reader->locations[row];
        for (size_t l = location->line_count; l-- > 0 && !reader->failed;) {
            uint64_t id = reader->lines[location->first_line + l];
            context =
                maker_context(&reader->maker, context, function_of(reader, id, location->mapping));
        }
        if (location->line_count == 0)
            context = maker_context(&reader->maker, context,
                                    maker_function(&reader->maker, "[unknown]", ""));
    }
    if (context == 0)
        context = maker_context(&reader->maker, 0, maker_function(&reader->maker, "[unknown]", ""));
    return context;
}

static int add_sample(struct reader *reader, struct bytes message, const char *name,
                      struct error *error)
{
    struct field field;

    reader->stack_count = reader->value_count = 0;
    while (get_field(&message, &field)) {
        if (field.number == 1)
            get_numbers(reader, &field, &reader->stack, &reader->stack_count,
                        &reader->stack_capacity);
        if (field.number == 2)
            get_numbers(reader, &field, &reader->values, &reader->value_count,
                        &reader->value_capacity);
    }
    reader->failed |= message.failed || reader->value_count != reader->type_count;
    if (reader->failed)
        return error_set(error, "%s: not a pprof profile: a sample makes no sense", name);
    uint64_t value = reader->values[reader->value_at];
    uint64_t calls = reader->calls_at < reader->type_count ? reader->values[reader->calls_at] : 0;
    if ((int64_t)value < 0 || (int64_t)calls < 0)
        return error_set(error, "%s: has negative values: a diff is no profile", name);
    uint32_t context = stack_context(reader);
    if (reader->failed)
        return error_set(error, "%s: not a pprof profile: a sample refers to nothing", name);
    if (maker_add(&reader->maker, context, value, calls))
        return error_set(error, "%s: the values exceed 64 bits", name);
    return OK;
}

static void note_build_ids(struct reader *reader)
{
    struct profile *profile = reader->maker.profile;

    for (size_t i = 0; i < reader->mapping_count && !reader->failed; i++) {
        char *file = text_of(reader, reader->mapping_files[i]);
        char *build = text_of(reader, reader->mapping_builds[i]);
        uint32_t module = map_find(&reader->maker.modules, profile_intern(profile, file));
        if (module != MAP_ABSENT)
            profile->modules[module].build_id = profile_intern(profile, build);
        free(file);
        free(build);
    }
}

static int read_profile(struct reader *reader, struct bytes message, const char *name,
                        struct error *error)
{
    struct bytes samples = message;
    struct field field;

    read_tables(reader, message);
    if (!reader->failed)
        choose_values(reader);
    if (reader->failed || reader->type_count == 0 || reader->string_count == 0)
        return error_set(error, "%s: not a pprof profile", name);
    while (get_field(&samples, &field))
        if (field.number == 2 && field.wire == WIRE_BYTES &&
            add_sample(reader, field.bytes, name, error))
            return ERROR;
    note_build_ids(reader);
    char *type = text_of(reader, reader->types[reader->value_at]);
    char *command = memory_format("pprof: %s", type);
    reader->maker.profile->meta.command = profile_intern(reader->maker.profile, command);
    free(command);
    free(type);
    return reader->failed ? error_set(error, "%s: not a pprof profile", name) : OK;
}

static void reader_free(struct reader *reader)
{
    maker_discard(&reader->maker);
    void *tables[] = {reader->strings, reader->functions,     reader->locations,
                      reader->lines,   reader->mapping_files, reader->mapping_builds,
                      reader->types,   reader->stack,         reader->values};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        free(tables[i]);
    map_free(&reader->function_ids);
    map_free(&reader->location_ids);
    map_free(&reader->mapping_ids);
}

static int pprof_read(const struct file_bytes *input, const char *name, struct profile **profile,
                      struct error *error)
{
    struct reader reader = {0};
    struct file_bytes plain = {0};
    struct bytes message = {input->bytes, input->bytes + input->size_bytes, false};

    *profile = NULL;
    if (input->size_bytes > 2 && input->bytes[0] == 0x1f && input->bytes[1] == 0x8b) {
        if (gzip_unpack(input->bytes, input->size_bytes, MOST_PLAIN_BYTES, &plain))
            return error_set(error, "%s: damaged gzip data", name);
        message = (struct bytes){plain.bytes, plain.bytes + plain.size_bytes, false};
    }
    maker_start(&reader.maker, "import:pprof");
    int result = read_profile(&reader, message, name, error);
    if (result == OK)
        *profile = maker_finish(&reader.maker);
    reader_free(&reader);
    file_free(&plain);
    return result;
}

const struct import_format import_pprof = {
    .name = "pprof",
    .summary = "profile.proto, as go tool pprof reads it",
    .read = pprof_read,
};

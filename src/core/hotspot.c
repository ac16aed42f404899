#include "core/hotspot.h"
#include "core/core.h"
#include "core/elf_functions.h"
#include "core/jit.h"
#include "core/platform.h"
#include "core/text.h"

#define TEXT_MOST 1024 /* bytes of a name, and of each of its parts */
#define MOST_ROWS 20000
#define MOST_BACK 100000 /* segments of a blob */

/* ---- memory ---- */

static uint64_t word_at(uint64_t address)
{
    uint64_t word = 0;

    return platform_read(address, &word, sizeof word) ? word : 0;
}

static uint32_t half_at(uint64_t address)
{
    uint32_t half = 0;

    return platform_read(address, &half, sizeof half) ? half : 0;
}

static uint16_t quarter_at(uint64_t address)
{
    uint16_t quarter = 0;

    return platform_read(address, &quarter, sizeof quarter) ? quarter : 0;
}

static uint8_t byte_at(uint64_t address)
{
    uint8_t byte = 0xff;

    return platform_read(address, &byte, 1) ? byte : 0xff;
}

static bool is_text(uint64_t address, const char *text)
{
    do {
        if (byte_at(address++) != (uint8_t)*text)
            return false;
    } while (*text++);
    return true;
}

/* ---- the virtual machine's description of itself ---- */

static const struct field {
    const char *type, *name;
    size_t place; /* in struct hotspot_layout */
} fields[] = {
#define FIELD(type, name, member)                                                                  \
    {                                                                                              \
        type, name, offsetof(struct hotspot_layout, member)                                        \
    }
    FIELD("CodeCache", "_heaps", heaps),
    FIELD("GrowableArrayBase", "_len", array_length),
    FIELD("GrowableArray<int>", "_data", array_data),
    FIELD("CodeHeap", "_memory", heap_memory),
    FIELD("CodeHeap", "_segmap", heap_segments),
    FIELD("CodeHeap", "_log2_segment_size", heap_shift),
    FIELD("VirtualSpace", "_low", space_low),
    FIELD("VirtualSpace", "_high", space_high),
    FIELD("HeapBlock::Header", "_used", block_used),
    FIELD("CodeBlob", "_name", blob_name),
    FIELD("CodeBlob", "_size", blob_size),
    FIELD("CodeBlob", "_code_begin", code_begin), /* up to 22 */
    FIELD("CodeBlob", "_code_end", code_end),
    FIELD("CodeBlob", "_code_offset", code_offset), /* from 23 on */
    FIELD("CodeBlob", "_data_offset", data_offset),
    FIELD("CompiledMethod", "_method", method),
    FIELD("nmethod", "_method", method),
    FIELD("Method", "_constMethod", const_method),
    FIELD("ConstMethod", "_constants", constants),
    FIELD("ConstMethod", "_name_index", name_index),
    FIELD("ConstMethod", "_signature_index", signature_index),
    FIELD("ConstantPool", "_pool_holder", pool_holder),
    FIELD("Klass", "_name", class_name),
    FIELD("Symbol", "_length", symbol_length),
    FIELD("Symbol", "_body", symbol_body),
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

static uint64_t *member(struct hotspot_layout *layout, size_t place)
{
    return (uint64_t *)((uint8_t *)layout + place);
}

/* A row: { type name, field name, type of the field, is static (32 bits), offset, address }. */
static void read_fields(struct hotspot *hotspot)
{
    uint64_t row[6], at = word_at(hotspot->structs);

    for (size_t i = 0; i < FIELD_COUNT; i++)
        *member(&hotspot->layout, fields[i].place) = UINT64_MAX;
    for (unsigned count = 0; count < MOST_ROWS && platform_read(at, row, sizeof row) && row[0];
         count++, at += sizeof row)
        for (size_t i = 0; i < FIELD_COUNT; i++)
            if (is_text(row[1], fields[i].name) && is_text(row[0], fields[i].type))
                *member(&hotspot->layout, fields[i].place) = (uint32_t)row[3] ? row[5] : row[4];
}

/* A row: { type name, name of what it is made from, three truths of 32 bits, size in bytes }. */
static void read_sizes(struct hotspot *hotspot)
{
    uint64_t row[5], at = word_at(hotspot->types);

    hotspot->layout.block_bytes = hotspot->layout.pool_bytes = UINT64_MAX;
    for (unsigned count = 0; count < MOST_ROWS && platform_read(at, row, sizeof row) && row[0];
         count++, at += sizeof row) {
        if (is_text(row[0], "HeapBlock"))
            hotspot->layout.block_bytes = row[4];
        if (is_text(row[0], "ConstantPool"))
            hotspot->layout.pool_bytes = row[4];
    }
}

static bool prepare(struct hotspot *hotspot, struct jit *jit)
{
    struct hotspot_layout *layout = &hotspot->layout;

    if (hotspot->readiness != HOTSPOT_UNREAD)
        return hotspot->readiness == HOTSPOT_READY;
    hotspot->readiness = HOTSPOT_UNKNOWN;
    read_fields(hotspot);
    read_sizes(hotspot);
    bool has_code = (layout->code_begin != UINT64_MAX && layout->code_end != UINT64_MAX) ||
                    (layout->code_offset != UINT64_MAX && layout->data_offset != UINT64_MAX);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (*member(layout, fields[i].place) == UINT64_MAX &&
            fields[i].place != offsetof(struct hotspot_layout, code_begin) &&
            fields[i].place != offsetof(struct hotspot_layout, code_end) &&
            fields[i].place != offsetof(struct hotspot_layout, code_offset) &&
            fields[i].place != offsetof(struct hotspot_layout, data_offset))
            return false;
    if (!has_code || layout->block_bytes == UINT64_MAX || layout->pool_bytes == UINT64_MAX)
        return false;
    hotspot->readiness = HOTSPOT_READY;
    core_note(jit->core, "Java:",
              "compiled methods have names; what was interpreted is in the frame `Interpreter`, "
              "what was inlined in the method that has it");
    return true;
}

struct hotspot *hotspot_recognise(const uint8_t *image, size_t size_bytes, uint64_t bias)
{
    struct hotspot found = {0};

    if (!elf_find_symbol(image, size_bytes, "gHotSpotVMStructs", &found.structs) ||
        !elf_find_symbol(image, size_bytes, "gHotSpotVMTypes", &found.types))
        return NULL;
    found.structs += bias;
    found.types += bias;
    struct hotspot *kept = platform_allocate(sizeof *kept);
    *kept = found;
    return kept;
}

/* ---- from an address to its blob ---- */

/* The blob of a heap whose segments cover `address`; 0 if it is free. */
static uint64_t blob_in_heap(const struct hotspot_layout *layout, uint64_t heap, uint64_t low,
                             uint64_t address)
{
    unsigned shift = half_at(heap + layout->heap_shift) & 63;
    uint64_t segments = word_at(heap + layout->heap_segments + layout->space_low);
    uint64_t segment = (address - low) >> shift;

    /* The map says how far back the blob's beginning is, at most; 0 is there, 255 is nowhere. */
    for (unsigned steps = 0; steps < MOST_BACK; steps++) {
        uint8_t back = byte_at(segments + segment);
        if (back == 0xff || back > segment)
            return 0;
        if (!back)
            break;
        segment -= back;
    }
    uint64_t block = low + (segment << shift);
    return byte_at(block + layout->block_used) == 1 ? block + layout->block_bytes : 0;
}

static uint64_t find_blob(const struct hotspot_layout *layout, uint64_t address)
{
    uint64_t heaps = word_at(layout->heaps);
    uint32_t count = heaps ? half_at(heaps + layout->array_length) : 0;
    uint64_t data = word_at(heaps + layout->array_data);

    for (uint32_t i = 0; i < count && i < 16; i++) {
        uint64_t heap = word_at(data + 8 * i), space = heap + layout->heap_memory;
        uint64_t low = word_at(space + layout->space_low);
        if (heap && address >= low && address < word_at(space + layout->space_high))
            return blob_in_heap(layout, heap, low, address);
    }
    return 0;
}

static bool blob_code(const struct hotspot_layout *layout, uint64_t blob, uint64_t *start,
                      uint64_t *end)
{
    if (layout->code_begin != UINT64_MAX) {
        *start = word_at(blob + layout->code_begin);
        *end = word_at(blob + layout->code_end);
    } else {
        *start = blob + half_at(blob + layout->code_offset);
        *end = blob + half_at(blob + layout->data_offset);
    }
    uint64_t last = blob + half_at(blob + layout->blob_size);
    return *start > blob && *start < *end && *end <= last;
}

/* ---- names ---- */

struct name {
    char text[TEXT_MOST + 1];
    size_t length;
};

static void add_character(struct name *name, char character)
{
    if (name->length < TEXT_MOST)
        name->text[name->length++] = character;
}

static void add_text(struct name *name, const char *text)
{
    while (*text)
        add_character(name, *text++);
}

/* The virtual machine's symbol; returns its length. Not terminated. */
static size_t read_symbol(const struct hotspot_layout *layout, uint64_t symbol, char *text)
{
    size_t length = symbol ? quarter_at(symbol + layout->symbol_length) : 0;

    length = length < TEXT_MOST ? length : TEXT_MOST;
    return platform_read(symbol + layout->symbol_body, text, length) ? length : 0;
}

/* One type of a descriptor as it is written in Java: `[I` is int[]. Returns what follows it. */
static const char *add_type(struct name *name, const char *at, const char *end)
{
    static const struct {
        char letter;
        const char *type;
    } types[] = {{'B', "byte"}, {'C', "char"},  {'D', "double"},  {'F', "float"}, {'I', "int"},
                 {'J', "long"}, {'S', "short"}, {'Z', "boolean"}, {'V', "void"}};
    unsigned dimensions = 0;

    for (; at < end && *at == '['; at++)
        dimensions++;
    if (at < end && *at == 'L') {
        for (at++; at < end && *at != ';'; at++)
            add_character(name, *at == '/' ? '.' : *at);
    } else if (at < end) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (types[i].letter == *at)
                add_text(name, types[i].type);
    }
    while (dimensions--)
        add_text(name, "[]");
    return at < end ? at + 1 : end;
}

/* As OpenJDK's own map has it: `int Hot.leaf(int, java.lang.String)`. */
static void name_method(const struct hotspot_layout *layout, uint64_t method, struct name *name)
{
    char text[TEXT_MOST], signature[TEXT_MOST];
    uint64_t details = word_at(method + layout->const_method);
    uint64_t constants = word_at(details + layout->constants);
    uint64_t symbols = constants + layout->pool_bytes;
    uint64_t holder = word_at(constants + layout->pool_holder);
    size_t length = read_symbol(
        layout, word_at(symbols + 8 * quarter_at(details + layout->signature_index)), signature);
    const char *end = signature + length, *at = signature;

    if (!details || !constants || !length || *at != '(')
        return;
    while (at < end && *at != ')')
        at++;
    add_type(name, at < end ? at + 1 : end, end);
    add_character(name, ' ');
    length = read_symbol(layout, word_at(holder + layout->class_name), text);
    for (size_t i = 0; i < length; i++)
        add_character(name, text[i] == '/' ? '.' : text[i]);
    add_character(name, '.');
    length =
        read_symbol(layout, word_at(symbols + 8 * quarter_at(details + layout->name_index)), text);
    for (size_t i = 0; i < length; i++)
        add_character(name, text[i]);
    add_character(name, '(');
    for (at = signature + 1; at < end && *at != ')';) {
        at = add_type(name, at, end);
        if (at < end && *at != ')')
            add_text(name, ", ");
    }
    add_character(name, ')');
}

static void name_blob(const struct hotspot_layout *layout, uint64_t blob, struct name *name)
{
    uint64_t text = word_at(blob + layout->blob_name);

    if (is_text(text, "nmethod") || is_text(text, "native nmethod"))
        name_method(layout, word_at(blob + layout->method), name);
    if (name->length)
        return;
    for (uint8_t byte = byte_at(text); byte && byte != 0xff && name->length < TEXT_MOST;
         byte = byte_at(++text))
        add_character(name, (char)byte);
}

void hotspot_look(struct hotspot *hotspot, struct jit *jit, uint64_t address)
{
    struct name name = {.length = 0};
    uint64_t start, end;

    if (!prepare(hotspot, jit))
        return;
    uint64_t blob = find_blob(&hotspot->layout, address);
    if (!blob || !blob_code(&hotspot->layout, blob, &start, &end) || address < start ||
        address >= end)
        return;
    name_blob(&hotspot->layout, blob, &name);
    if (name.length)
        jit_add(jit, start, end, name.text, name.length, platform_clock(), NULL, true);
}

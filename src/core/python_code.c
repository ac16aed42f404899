/*
 * python_code.c: what a Python frame executes, read from the program's memory.
 *
 * A code object is known by its address, but the address is used again when it is freed, and so
 * may be the addresses of its strings. An engine can tell when one is freed (python_freer); if it
 * does not, what is remembered is believed only if the code's strings, their hashes or first
 * characters, and its line are still those that were seen.
 *
 * Functions are one for each (qualified name, file, first line): code that is compiled a thousand
 * times from the same source is one function.
 */
#include "core/code.h"
#include "core/platform.h"
#include "core/python_memory.h"
#include "core/text.h"

#define MIX          0x9e3779b97f4a7c15u
#define CODE_BITS    13
#define GLANCE_BYTES 64   /* of a string's characters, when it is seen again */
#define TEXT_MOST    4096 /* characters of a name */
#define NO_HASH      UINT64_MAX

#define GENERATOR_FLAGS    0x2a0u /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
#define OWNED_BY_GENERATOR 1u

struct python_known_code {
    uint64_t address;
    uint64_t name, qualified_name, file; /* addresses of the strings */
    uint64_t glance;                     /* hash of what they looked like */
    uint32_t line;
    uint32_t flags;
    struct code_function *function; /* NULL: not shown */
};

/* ---- strings ---- */

struct text_head {
    uint64_t length;
    uint64_t hash;       /* the interpreter's, of all characters; NO_HASH: nobody asked yet */
    unsigned kind;       /* bytes a character */
    uint64_t characters; /* address */
};

static bool read_text_head(const struct python_module *module, uint64_t address,
                           struct text_head *head)
{
    const struct python_layout *layout = &module->layout;
    const uint8_t *bytes = python_held_bytes(module, address, PYTHON_TEXT_BYTES);

    if (!bytes)
        return false;
    unsigned state = python_half_at(bytes, layout->text_state) >> layout->text_kind_shift;
    head->length = python_word_at(bytes, layout->text_length);
    head->hash = python_word_at(bytes, layout->text_length + 8);
    head->kind = state & 7;
    bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
    if (!compact || (head->kind != 1 && head->kind != 2 && head->kind != 4))
        return false;
    head->characters = address + (ascii ? layout->text_ascii_bytes : layout->text_compact_bytes);
    return true;
}

/* Terms that do not wait for each other: this is done for every Python call. */
static uint64_t glance_at(const struct python_module *module, uint64_t address)
{
    struct text_head head;
    uint64_t hash = 0, last = 0;

    if (!read_text_head(module, address, &head))
        return 0;
    if (head.hash != NO_HASH)
        return head.hash;
    uint64_t size_bytes = head.length * head.kind;
    size_bytes = size_bytes < GLANCE_BYTES ? size_bytes : GLANCE_BYTES;
    const uint8_t *bytes = python_held_bytes(module, head.characters, size_bytes + sizeof last);
    if (!bytes)
        return 0;
    unsigned i = 0;
    for (; i + 8 <= size_bytes; i += 8)
        hash += python_word_at(bytes, i) * (MIX + 2 * i);
    for (; i < size_bytes; i++)
        last = last << 8 | bytes[i];
    hash += (last ^ head.length) * (MIX + 2 * GLANCE_BYTES);
    return hash ^ hash >> 32;
}

static size_t put_utf8(char *out, uint32_t character)
{
    /* Names end at a NUL here, and half a surrogate pair is no character. */
    if (!character || (character >= 0xd800 && character < 0xe000) || character > 0x10ffff)
        character = '?';
    if (character < 0x80) {
        out[0] = character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; character >>= 6)
        out[i] = 0x80 | (character & 63);
    out[0] = leads[length] | character;
    return length;
}

/* Where a code object's texts are read into, one after the other. */
struct python_texts {
    uint8_t raw[4 * TEXT_MOST];
    char name[4 * TEXT_MOST + 1], file[4 * TEXT_MOST + 1];
};

/* Into `text`, in UTF-8. False if it cannot be read. */
static bool read_text(const struct python *python, uint64_t address, char *text)
{
    uint8_t *raw = python->texts->raw;
    struct text_head head;

    if (!read_text_head(python->module, address, &head))
        return false;
    uint64_t length = head.length < TEXT_MOST ? head.length : TEXT_MOST;
    if (!platform_read(head.characters, raw, length * head.kind))
        return false;
    for (uint64_t i = 0; i < length; i++) {
        uint32_t character = raw[i * head.kind];
        for (unsigned j = 1; j < head.kind; j++)
            character |= (uint32_t)raw[i * head.kind + j] << 8 * j;
        text += put_utf8(text, character);
    }
    *text = '\0';
    return true;
}

/* ---- functions and files, each one once ---- */

static uint64_t hash_text(const char *text, uint64_t hash)
{
    while (*text)
        hash = (hash ^ (uint8_t)*text++) * 1099511628211u;
    return hash ^ hash >> 29;
}

static uint64_t hash_named(const char *name, const char *file, uint32_t line)
{
    return hash_text(name, hash_text(file, line));
}

/* Of a line of the file, whose path each of its functions has. */
static uint64_t hash_line(const char *path, uint32_t line)
{
    return ((uintptr_t)path + (uint64_t)line * 0x9e3779b1u) * 0x9e3779b97f4a7c15u >> 32;
}

static bool is_line(const struct code_function *function)
{
    return function->flags & CODE_FUNCTION_LINE;
}

static struct code_module *file_of(struct python *python, const char *path)
{
    if (2 * python->file_count >= python->file_capacity) {
        size_t old_capacity = python->file_capacity;
        struct code_module **old = python->files;
        python->file_capacity = old_capacity ? 2 * old_capacity : 256;
        python->files = platform_allocate(python->file_capacity * sizeof *old);
        for (size_t i = 0; i < old_capacity; i++) {
            if (!old[i])
                continue;
            size_t at = hash_text(old[i]->path, 0) & (python->file_capacity - 1);
            while (python->files[at])
                at = (at + 1) & (python->file_capacity - 1);
            python->files[at] = old[i];
        }
        platform_release(old, old_capacity * sizeof *old);
    }
    size_t at = hash_text(path, 0) & (python->file_capacity - 1);
    for (; python->files[at]; at = (at + 1) & (python->file_capacity - 1))
        if (text_equal(python->files[at]->path, path))
            return python->files[at];
    struct code_module *module = platform_allocate(sizeof *module);
    *module = (struct code_module){
        .path = text_keep(path), .kind = CODE_PYTHON, .live = true, .raw_id = CODE_NO_ID};
    python->file_count++;
    return python->files[at] = module;
}

static void functions_grow(struct python *python)
{
    size_t old_capacity = python->function_capacity;
    struct code_function **old = python->functions;

    python->function_capacity = old_capacity ? 2 * old_capacity : 1024;
    python->functions = platform_allocate(python->function_capacity * sizeof *old);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i])
            continue;
        size_t at = is_line(old[i]) ? hash_line(old[i]->file, old[i]->line)
                                    : hash_named(old[i]->name, old[i]->file, old[i]->line);
        for (at &= python->function_capacity - 1; python->functions[at];
             at = (at + 1) & (python->function_capacity - 1))
            ;
        python->functions[at] = old[i];
    }
    platform_release(old, old_capacity * sizeof *old);
}

static struct code_function *function_new(struct python *python, struct code_module *module,
                                          const char *name, uint32_t line, uint32_t flags)
{
    struct code_function *function = platform_allocate(sizeof *function);

    *function = (struct code_function){
        .module = module,
        .start = line,
        .end = line,
        .flags = CODE_FUNCTION_PYTHON | flags,
        .raw_id = CODE_NO_ID,
        .name = name,
        .file = module->path,
        .line = line,
    };
    python->function_count++;
    return function;
}

static struct code_function *function_named(struct python *python, const char *name,
                                            const char *file, uint32_t line)
{
    if (2 * python->function_count >= python->function_capacity)
        functions_grow(python);
    size_t at = hash_named(name, file, line) & (python->function_capacity - 1);
    for (; python->functions[at]; at = (at + 1) & (python->function_capacity - 1)) {
        struct code_function *function = python->functions[at];
        if (function->line == line && !is_line(function) && text_equal(function->name, name) &&
            text_equal(function->file, file))
            return function;
    }
    return python->functions[at] =
               function_new(python, file_of(python, file), text_keep(name), line, 0);
}

struct code_function *python_line_function(struct python *python,
                                           const struct code_function *function, uint32_t line)
{
    if (2 * python->function_count >= python->function_capacity)
        functions_grow(python);
    size_t at = hash_line(function->file, line) & (python->function_capacity - 1);
    for (; python->functions[at]; at = (at + 1) & (python->function_capacity - 1)) {
        struct code_function *known = python->functions[at];
        if (is_line(known) && known->line == line && known->file == function->file)
            return known;
    }
    return python->functions[at] =
               function_new(python, function->module, NULL, line, CODE_FUNCTION_LINE);
}

/* ---- code objects ---- */

static struct code_function *read_function(struct python *python,
                                           const struct python_known_code *code)
{
    if (!python->texts)
        python->texts = platform_allocate(sizeof *python->texts);
    char *name = python->texts->name, *file = python->texts->file;
    bool named = read_text(python, code->qualified_name, name) ||
                 (code->name != code->qualified_name && read_text(python, code->name, name));

    if (!named || !read_text(python, code->file, file))
        return NULL;
    return function_named(python, name, file, code->line);
}

static bool same_code(const struct python_known_code *a, const struct python_known_code *b)
{
    return a->address == b->address && a->name == b->name &&
           a->qualified_name == b->qualified_name && a->file == b->file && a->line == b->line &&
           a->flags == b->flags && a->glance == b->glance;
}

/* Where what is known about the code object at `address` would be. */
static struct python_known_code *known_code(const struct python *python, uint64_t address)
{
    return &python->codes[address * MIX >> (64 - CODE_BITS)];
}

void python_code_freed(struct python *python, uint64_t address)
{
    if (python->codes && known_code(python, address)->address == address)
        known_code(python, address)->address = 0;
    python_lines_forget(python, address);
    python_forget_calls(python, address);
}

/* NULL if there is no code object at `address`. */
static const struct python_known_code *code_at(struct python *python, uint64_t address)
{
    const struct python_module *module = python->module;
    const struct python_layout *layout = &module->layout;

    if (!python->codes)
        python->codes = platform_allocate(sizeof *python->codes << CODE_BITS);
    struct python_known_code *known = known_code(python, address);
    if (module->freer && known->address == address)
        return known;
    const uint8_t *bytes = python_live_bytes(module, address, PYTHON_CODE_BYTES);
    if (!bytes || python_word_at(bytes, 8) != module->module->bias + module->code_type)
        return NULL;
    struct python_known_code code = {
        .address = address,
        .name = python_word_at(bytes, layout->code_name),
        .qualified_name = python_word_at(bytes, layout->code_qualified_name),
        .file = python_word_at(bytes, layout->code_file),
        .line = python_half_at(bytes, layout->code_line),
        .flags = python_half_at(bytes, layout->code_flags),
    };
    code.glance = glance_at(module, code.qualified_name) ^ glance_at(module, code.file) >> 1;
    if (same_code(known, &code))
        return known;
    /* The interpreter's own shims have no line, and a name for a file. */
    if (code.line || code.name != code.file)
        code.function = read_function(python, &code);
    *known = code;
    return known;
}

/* The self-check: the first frame that is seen must have code with a name and a file, which start-up
 * code always has. If not, nothing can be believed here. */
static void check_layout(struct python_module *module, bool believed)
{
    if (!module->checked && !believed)
        module->readiness = PYTHON_MISREAD;
    module->checked |= believed;
}

struct code_function *python_function_of(struct python *python, const struct python_frame *frame,
                                         bool *starts)
{
    const struct python_layout *layout = &python->module->layout;

    *starts = true;
    if (layout->frame_owner && frame->owner >= layout->shim_owner)
        return NULL;
    const struct python_known_code *code = code_at(python, frame->code);
    check_layout(python->module, code && code->function);
    if (!code)
        return NULL;
    *starts = !(layout->frame_owner && code->flags & GENERATOR_FLAGS &&
                frame->owner != OWNED_BY_GENERATOR);
    return code->function;
}

/*
 * raw_code.c: the modules, functions, call sites and blocks of raw files.
 *
 * They are found again by address in tables that last for the whole run: a thousand forks of one
 * program have its code once.
 */
#include "common/memory.h"
#include "profile/raw_lines.h"
#include "profile/raw_reader.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t module_kinds[] = {MODULE_FILE, MODULE_ANON, MODULE_MARKER, MODULE_PYTHON,
                                       MODULE_JIT};

uint32_t raw_intern_taken(struct profile *profile, struct cursor *cursor)
{
    char *text = take_text(cursor);
    uint32_t id = profile_intern(profile, text);

    free(text);
    return id;
}

static uint32_t module_of(struct reader *reader, uint32_t path, uint32_t build_id, uint8_t kind)
{
    struct profile *profile = reader->profile;
    uint32_t *place = map_place(&reader->modules, map_pair(path, build_id));

    if (*place != MAP_ABSENT)
        return *place;
    uint32_t row = *place = (uint32_t)profile->module_count;
    *array_push(profile->modules, profile->module_count, profile->module_capacity) =
        (struct module){.path = path, .build_id = build_id, .kind = kind};
    size_t old = reader->code_capacity;
    reader->code = memory_grow(reader->code, &reader->code_capacity, row + 1, sizeof *reader->code);
    memset(reader->code + old, 0, (reader->code_capacity - old) * sizeof *reader->code);
    return row;
}

uint32_t raw_read_module(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                         uint64_t module_count)
{
    (void)modules;
    (void)module_count;
    uint64_t kind = take(cursor);
    uint32_t path = raw_intern_taken(reader->profile, cursor);
    uint32_t build_id = raw_intern_taken(reader->profile, cursor);

    if (kind >= sizeof module_kinds)
        cursor->damaged = true;
    return cursor->damaged ? NONE : module_of(reader, path, build_id, module_kinds[kind]);
}

/* As in core/code.h, which cannot be included beside profile.h. */
enum raw_function_flags {
    RAW_FUNCTION_ANONYMOUS = 1,
    RAW_FUNCTION_MARKER = 2,
    RAW_FUNCTION_PYTHON = 4,
    RAW_FUNCTION_JIT = 16,
    RAW_FUNCTION_LINE = 64,
};

static uint8_t function_kind(uint64_t flags, const char *name)
{
    if (flags & RAW_FUNCTION_MARKER)
        return *name ? FUNCTION_MARKER : FUNCTION_ROOT;
    if (flags & RAW_FUNCTION_ANONYMOUS)
        return FUNCTION_ANON;
    if (flags & RAW_FUNCTION_JIT)
        return FUNCTION_JIT;
    return flags & RAW_FUNCTION_PYTHON ? FUNCTION_PYTHON : FUNCTION_NATIVE;
}

/* Lines of a JIT function, which has the module to itself. */
static void read_lines(struct reader *reader, struct cursor *cursor, struct raw_jit *jit)
{
    jit->line_count = take_count(cursor, 24);
    jit->first_line = reader->line_count;
    for (size_t i = 0; i < jit->line_count && !cursor->damaged; i++) {
        struct raw_line line = {.address = take(cursor), .location = NONE};
        line.line = (uint32_t)take(cursor);
        line.file = raw_intern_taken(reader->profile, cursor);
        *array_push(reader->lines, reader->line_count, reader->line_capacity) = line;
    }
}

/* A trampoline, CPython's or ours, whose name says `py::QUALNAME:FILE` is a Python function. */
static bool is_trampoline(uint64_t flags, const char *name)
{
    return flags & RAW_FUNCTION_JIT && !strncmp(name, "py::", 4) && strchr(name + 4, ':');
}

/* As if it had been found by watching the interpreter, but for the line, which no map tells; and its
 * symbol says what it is (python_is_trampoline). */
static struct function python_function(struct reader *reader, uint32_t symbol)
{
    const char *name = profile_string(reader->profile, symbol);
    const char *colon = strchr(name + 4, ':');
    char *qualified = memory_format("%.*s", (int)(colon - name - 4), name + 4);
    char *path = memory_duplicate_string(colon + 1);
    uint32_t file = profile_intern(reader->profile, path);
    struct function function = {
        .kind = FUNCTION_PYTHON,
        .module = module_of(reader, file, 0, MODULE_PYTHON),
        .name = profile_intern(reader->profile, qualified),
        .symbol = symbol,
        .file = file,
    };

    free(qualified);
    free(path);
    return function;
}

uint32_t raw_read_function(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                           uint64_t module_count)
{
    struct profile *profile = reader->profile;
    uint32_t raw_module = take_row(cursor, module_count);
    uint64_t flags = take(cursor);
    uint64_t start = take(cursor);
    uint64_t end = take(cursor);
    uint64_t line = take(cursor);
    uint32_t name = raw_intern_taken(profile, cursor);
    uint32_t file = raw_intern_taken(profile, cursor);
    struct raw_jit jit = {.function = NONE};

    read_lines(reader, cursor, &jit);
    if (cursor->damaged)
        return NONE;
    if (flags & RAW_FUNCTION_LINE)
        return RAW_LINE_MARK | (uint32_t)(start < RAW_LINE_MOST ? start : RAW_LINE_MOST);
    if (flags & RAW_FUNCTION_JIT)
        reader->jit[raw_module] = jit;
    struct function function = {
        .module = modules[raw_module],
        .kind = function_kind(flags, profile_string(profile, name)),
        .name = name,
        .file = file,
        .line = (uint32_t)line,
        .start = start,
        .size = end - start,
    };
    if (is_trampoline(flags, profile_string(profile, name)))
        function = python_function(reader, name);
    uint64_t key = function.name ? (uint64_t)function.name << 32 ^ function.start : function.start;
    uint32_t *place = map_place(&reader->code[function.module].functions, key);
    if (*place == MAP_ABSENT) {
        *place = (uint32_t)profile->function_count;
        *array_push(profile->functions, profile->function_count, profile->function_capacity) =
            function;
    }
    return reader->jit[raw_module].function = *place;
}

uint32_t raw_read_site(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                       uint64_t module_count)
{
    struct profile *profile = reader->profile;
    uint32_t raw_module = take_row(cursor, module_count);
    uint64_t address = take(cursor);

    if (cursor->damaged)
        return NONE;
    uint32_t *place = map_place(&reader->code[modules[raw_module]].sites, address);
    if (*place != MAP_ABSENT)
        return *place;
    *place = (uint32_t)profile->site_count;
    *array_push(profile->sites, profile->site_count, profile->site_capacity) = (struct site){
        .module = modules[raw_module], .location = NONE, .next = NONE, .address = address};
    return (uint32_t)profile->site_count - 1;
}

static uint32_t add_location(struct profile *profile, uint32_t function, uint32_t file,
                             uint32_t line)
{
    *array_push(profile->location_frames, profile->location_frame_count,
                profile->location_frame_capacity) =
        (struct location_frame){.function = function, .file = file, .line = line};
    *array_push(profile->locations, profile->location_count, profile->location_capacity) =
        (struct location){.first = (uint32_t)profile->location_frame_count - 1, .count = 1};
    return (uint32_t)profile->location_count - 1;
}

/* The location of the line that is the last to begin at or before `address`; NONE: it has none. */
static uint32_t line_location(struct reader *reader, const struct raw_jit *jit, uint64_t address)
{
    struct raw_line *lines = reader->lines + jit->first_line;
    size_t low = 0, high = jit->line_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (lines[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NONE;
    struct raw_line *line = &lines[low - 1];
    if (line->location == NONE)
        line->location = add_location(reader->profile, jit->function, line->file, line->line);
    return line->location;
}

/* Cuts a block of JIT code by its lines. What comes before the first is of that line too. */
static void add_pieces(struct reader *reader, struct block *block, const struct raw_jit *jit)
{
    struct profile *profile = reader->profile;
    uint64_t address = block->address, first = reader->lines[jit->first_line].address;

    block->first_piece = (uint32_t)profile->piece_count;
    for (uint32_t i = 0; i < block->instructions; i++) {
        uint32_t location = line_location(reader, jit, address < first ? first : address);
        address += profile->instruction_lengths[block->first_length + i];
        struct piece *last = i ? &profile->pieces[profile->piece_count - 1] : NULL;
        if (last && last->location == location)
            last->instructions++;
        else
            *array_push(profile->pieces, profile->piece_count, profile->piece_capacity) =
                (struct piece){.location = location, .instructions = 1};
    }
    block->piece_count = (uint32_t)(profile->piece_count - block->first_piece);
}

static bool same_block(const struct profile *profile, uint32_t row, uint64_t address,
                       const uint8_t *lengths, uint64_t instructions)
{
    const struct block *block = &profile->blocks[row];

    return block->address == address && block->instructions == instructions &&
           !memcmp(profile->instruction_lengths + block->first_length, lengths, instructions);
}

uint32_t raw_read_block(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                        uint64_t module_count)
{
    struct profile *profile = reader->profile;
    uint32_t raw_module = take_row(cursor, module_count);
    uint64_t address = take(cursor);
    uint64_t instructions = take(cursor);
    uint64_t length_count;
    const uint8_t *lengths = take_bytes(cursor, &length_count);

    if (cursor->damaged || !instructions || length_count != instructions ||
        instructions > UINT32_MAX) {
        cursor->damaged = true;
        return NONE;
    }
    uint32_t *place =
        map_place(&reader->code[modules[raw_module]].blocks, address << 8 | (instructions & 255));
    const struct raw_jit *jit = &reader->jit[raw_module];
    /* Not one with lines, which are those of a function that had the address before. */
    if (!jit->line_count && *place != MAP_ABSENT && !profile->blocks[*place].piece_count &&
        same_block(profile, *place, address, lengths, instructions))
        return *place;
    uint32_t row = *place = (uint32_t)profile->block_count;
    *array_push(profile->blocks, profile->block_count, profile->block_capacity) = (struct block){
        .module = modules[raw_module],
        .instructions = (uint32_t)instructions,
        .first_length = (uint32_t)profile->instruction_length_count,
        .address = address,
    };
    size_t used = profile->instruction_length_count;
    profile->instruction_lengths =
        memory_grow(profile->instruction_lengths, &profile->instruction_length_capacity,
                    used + instructions, 1);
    memcpy(profile->instruction_lengths + used, lengths, instructions);
    profile->instruction_length_count += instructions;
    if (jit->line_count)
        add_pieces(reader, &profile->blocks[row], jit);
    return row;
}

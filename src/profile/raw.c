/*
 * raw.c: reads raw files (core/raw.h) into the tables of a profile.
 *
 * Modules, functions, sites, blocks and parts are shared by the processes of a run; contexts are
 * not, since each process has roots of its own. A thousand forks of one program thus cost a
 * thousand times its contexts, and one time its code.
 */
#include "profile/raw.h"
#include "common/map.h"
#include "common/memory.h"
#include "profile/raw_file.h"
#include "profile/raw_lines.h"

#include <stdlib.h>
#include <string.h>

/* ---- shared tables ---- */

struct code_maps {
    struct map functions, sites, blocks;
};

/* A line that code from `address` on is of. */
struct raw_line {
    uint64_t address;
    uint32_t line, file;
    uint32_t location; /* NONE until a block needs it */
};

/* The one function of a module of the file that is a JIT function's, and its lines. */
struct raw_jit {
    uint32_t function;
    size_t first_line, line_count;
};

struct reader {
    struct profile *profile;
    struct raw_jit *jit;    /* by module of the file that is being read */
    struct raw_line *lines; /* of the same file */
    size_t line_count, line_capacity;
    struct map modules;     /* (path, build id) -> module */
    struct map chains;      /* (site, next site) -> chained site */
    struct code_maps *code; /* of each module */
    size_t code_capacity;
    char **skips;
    size_t skip_count, skip_capacity;
    char **notes;
    size_t note_count, note_capacity;
};

static const uint8_t module_kinds[] = {MODULE_FILE, MODULE_ANON, MODULE_MARKER, MODULE_PYTHON,
                                       MODULE_JIT};

static uint32_t intern_taken(struct profile *profile, struct cursor *cursor)
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

static uint32_t read_module(struct reader *reader, struct cursor *cursor)
{
    uint64_t kind = take(cursor);
    uint32_t path = intern_taken(reader->profile, cursor);
    uint32_t build_id = intern_taken(reader->profile, cursor);

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
        line.file = intern_taken(reader->profile, cursor);
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

static uint32_t read_function(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                              uint64_t module_count)
{
    struct profile *profile = reader->profile;
    uint32_t raw_module = take_row(cursor, module_count);
    uint64_t flags = take(cursor);
    uint64_t start = take(cursor);
    uint64_t end = take(cursor);
    uint64_t line = take(cursor);
    uint32_t name = intern_taken(profile, cursor);
    uint32_t file = intern_taken(profile, cursor);
    struct raw_jit jit = {.function = NONE};

    read_lines(reader, cursor, &jit);
    if (cursor->damaged)
        return NONE;
    if (flags & RAW_FUNCTION_LINE)
        return RAW_LINE_MARK | (uint32_t)start;
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

static uint32_t read_site(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
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

static uint32_t read_block(struct reader *reader, struct cursor *cursor, const uint32_t *modules,
                           uint64_t module_count)
{
    struct profile *profile = reader->profile;
    uint32_t raw_module = take_row(cursor, module_count);
    uint64_t address = take(cursor);
    uint64_t instructions = take(cursor);
    uint64_t length_count;
    const uint8_t *lengths = take_bytes(cursor, &length_count);

    if (cursor->damaged || length_count != instructions || instructions > UINT32_MAX) {
        cursor->damaged = true;
        return NONE;
    }
    uint32_t *place =
        map_place(&reader->code[modules[raw_module]].blocks, address << 8 | (instructions & 255));
    const struct raw_jit *jit = &reader->jit[raw_module];
    if (!jit->line_count && *place != MAP_ABSENT &&
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

/* Parts of different processes are one if they have the same name and label; two parts of one
 * process are two all the same. */
static uint32_t read_part(struct reader *reader, struct cursor *cursor, const uint32_t *earlier,
                          uint64_t earlier_count)
{
    struct profile *profile = reader->profile;
    uint32_t name = intern_taken(profile, cursor);
    uint32_t label = intern_taken(profile, cursor);

    for (uint32_t row = 0; row < profile->part_count; row++) {
        bool taken = false;
        for (uint64_t i = 0; i < earlier_count && !taken; i++)
            taken = earlier[i] == row;
        if (!taken && profile->parts[row].name == name && profile->parts[row].label == label)
            return row;
    }
    *array_push(profile->parts, profile->part_count, profile->part_capacity) =
        (struct part){.name = name, .label = label};
    return (uint32_t)profile->part_count - 1;
}

/* ---- one file ---- */

typedef uint32_t read_row_function(struct reader *, struct cursor *, const uint32_t *, uint64_t);

/* Reads a table whose rows are shared; returns the profile's row for each of the file's. */
static uint32_t *read_rows(struct reader *reader, struct cursor *cursor, uint64_t row_bytes,
                           read_row_function *read_row, const uint32_t *modules,
                           uint64_t module_count, uint64_t *count)
{
    *count = take_count(cursor, row_bytes);
    uint32_t *rows = memory_allocate(*count * sizeof *rows);
    for (uint64_t i = 0; i < *count && !cursor->damaged; i++)
        rows[i] = read_row(reader, cursor, modules, module_count);
    return rows;
}

static uint32_t read_module_row(struct reader *reader, struct cursor *cursor, const uint32_t *none,
                                uint64_t none_count)
{
    (void)none;
    (void)none_count;
    return read_module(reader, cursor);
}

static uint32_t *read_parts(struct reader *reader, struct cursor *cursor, uint64_t *count)
{
    *count = take_count(cursor, 16);
    uint32_t *rows = memory_allocate(*count * sizeof *rows);
    for (uint64_t i = 0; i < *count && !cursor->damaged; i++)
        rows[i] = read_part(reader, cursor, rows, i);
    return rows;
}

static uint64_t read_threads(struct reader *reader, struct raw_file *raw)
{
    struct profile *profile = reader->profile;
    uint64_t count = take_count(&raw->cursor, 8);

    for (uint64_t i = 0; i < count; i++)
        *array_push(profile->threads, profile->thread_count, profile->thread_capacity) =
            (struct thread){.process = raw->number, .ordinal = (uint32_t)take(&raw->cursor)};
    return count;
}

struct raw_rows {
    uint32_t *modules, *functions, *sites, *parts, *blocks;
    uint64_t module_count, function_count, site_count, part_count, block_count, thread_count;
    uint64_t first_thread, first_context, context_count;
};

static void read_contexts(struct reader *reader, struct cursor *cursor, struct raw_rows *rows)
{
    struct profile *profile = reader->profile;
    uint64_t root_count = take_count(cursor, 24);

    rows->first_context = profile->context_count;
    for (uint64_t i = 0; i < root_count && !cursor->damaged; i++) {
        uint64_t context = take(cursor);
        uint32_t thread = take_row(cursor, rows->thread_count);
        uint32_t part = take_row(cursor, rows->part_count);
        if (cursor->damaged)
            return;
        *array_push(profile->roots, profile->root_count, profile->root_capacity) = (struct root){
            .context = (uint32_t)(rows->first_context + context),
            .thread = (uint32_t)(rows->first_thread + thread),
            .part = rows->parts[part],
        };
    }
    rows->context_count = take_count(cursor, 40);
    for (uint64_t i = 0; i < rows->context_count && !cursor->damaged; i++) {
        uint32_t parent = take_optional_row(cursor, i);
        uint32_t function = take_row(cursor, rows->function_count);
        uint32_t site = take_optional_row(cursor, rows->site_count);
        if (cursor->damaged)
            return;
        struct context *context =
            array_push(profile->contexts, profile->context_count, profile->context_capacity);
        *context = (struct context){
            .parent = parent == NONE ? NONE : (uint32_t)(rows->first_context + parent),
            .function = rows->functions[function],
            .site = site == NONE ? NONE : rows->sites[site],
        };
        context->calls = take(cursor);
        context->self_instructions = take(cursor);
    }
}

/* The row for a site that has others after it; the same chain is the same row. */
static uint32_t chain_site(struct reader *reader, uint32_t site, uint32_t next)
{
    struct profile *profile = reader->profile;
    uint32_t *place = map_place(&reader->chains, map_pair(site, next));

    if (*place == MAP_ABSENT) {
        *place = (uint32_t)profile->site_count;
        struct site row = profile->sites[site];
        row.next = next;
        *array_push(profile->sites, profile->site_count, profile->site_capacity) = row;
    }
    return *place;
}

struct site_pair {
    uint32_t context, site;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct site_pair *one = a, *other = b;

    if (one->context != other->context)
        return one->context < other->context ? -1 : 1;
    return one->site < other->site ? -1 : one->site > other->site;
}

/* Further sites of contexts that stand for several. Chained in the order of rows, so that equal
 * sets are equal chains. */
static void read_site_pairs(struct reader *reader, struct cursor *cursor,
                            const struct raw_rows *rows)
{
    struct profile *profile = reader->profile;
    uint64_t count = take_count(cursor, 16);
    struct site_pair *pairs = memory_allocate(2 * count * sizeof *pairs);
    uint64_t used = 0;

    for (uint64_t i = 0; i < count && !cursor->damaged; i++) {
        uint32_t context = take_row(cursor, rows->context_count);
        uint32_t site = take_row(cursor, rows->site_count);
        if (cursor->damaged)
            break;
        context += (uint32_t)rows->first_context;
        uint32_t first = profile->contexts[context].site;
        pairs[used++] = (struct site_pair){.context = context, .site = rows->sites[site]};
        if (first != NONE) {
            pairs[used++] = (struct site_pair){.context = context, .site = first};
            profile->contexts[context].site = NONE;
        }
    }
    if (used)
        qsort(pairs, used, sizeof *pairs, compare_pairs);
    for (uint64_t i = 0; i < used; i++) {
        uint32_t *site = &profile->contexts[pairs[i].context].site;
        *site = *site == NONE ? pairs[i].site : chain_site(reader, pairs[i].site, *site);
    }
    free(pairs);
}

static void read_counts(struct reader *reader, struct cursor *cursor, const struct raw_rows *rows)
{
    struct profile *profile = reader->profile;
    uint64_t count = take_count(cursor, 24);

    for (uint64_t i = 0; i < count && !cursor->damaged; i++) {
        uint32_t context = take_row(cursor, rows->context_count);
        uint32_t block = take_row(cursor, rows->block_count);
        uint64_t times = take(cursor);
        if (times && !cursor->damaged)
            *array_push(profile->counts, profile->count_count, profile->count_capacity) =
                (struct block_count){
                    .context = (uint32_t)(rows->first_context + context),
                    .block = rows->blocks[block],
                    .count = times,
                };
    }
}

static void read_repairs(struct reader *reader, struct cursor *cursor)
{
    struct profile *profile = reader->profile;
    uint64_t count = take_count(cursor, 16);

    for (uint64_t i = 0; i < count && !cursor->damaged; i++) {
        uint32_t kind = intern_taken(profile, cursor);
        uint64_t times = take(cursor);
        size_t row = 0;
        while (row < profile->repair_count && profile->repairs[row].kind != kind)
            row++;
        if (row == profile->repair_count)
            *array_push(profile->repairs, profile->repair_count, profile->repair_capacity) =
                (struct repair){.kind = kind};
        profile->repairs[row].count += times;
    }
    count = take_count(cursor, 8);
    for (uint64_t i = 0; i < count && !cursor->damaged; i++)
        *array_push(reader->skips, reader->skip_count, reader->skip_capacity) = take_text(cursor);
    count = take_count(cursor, 8);
    for (uint64_t i = 0; i < count && !cursor->damaged; i++)
        *array_push(reader->notes, reader->note_count, reader->note_capacity) = take_text(cursor);
}

static bool read_tables(struct reader *reader, struct raw_file *raw)
{
    struct cursor *cursor = &raw->cursor;
    struct raw_rows rows = {.first_thread = reader->profile->thread_count};

    rows.modules = read_rows(reader, cursor, 24, read_module_row, NULL, 0, &rows.module_count);
    reader->jit = memory_allocate_zeroed(rows.module_count + 1, sizeof *reader->jit);
    reader->line_count = 0;
    rows.functions = read_rows(reader, cursor, 64, read_function, rows.modules, rows.module_count,
                               &rows.function_count);
    rows.sites =
        read_rows(reader, cursor, 16, read_site, rows.modules, rows.module_count, &rows.site_count);
    rows.parts = read_parts(reader, cursor, &rows.part_count);
    rows.thread_count = read_threads(reader, raw);
    read_contexts(reader, cursor, &rows);
    read_site_pairs(reader, cursor, &rows);
    rows.blocks = read_rows(reader, cursor, 32, read_block, rows.modules, rows.module_count,
                            &rows.block_count);
    read_counts(reader, cursor, &rows);
    read_repairs(reader, cursor);
    free(rows.modules);
    free(rows.functions);
    free(rows.sites);
    free(rows.parts);
    free(rows.blocks);
    free(reader->jit);
    return take(cursor) == RAW_END && !cursor->damaged;
}

static void read_process(struct reader *reader, const struct raw_file *raw)
{
    struct profile *profile = reader->profile;

    *array_push(profile->processes, profile->process_count, profile->process_capacity) =
        (struct process){
            .parent = raw->parent ? raw->parent->number : NONE,
            .command = profile_intern(profile, raw->command),
            .exit_status = (int32_t)raw->process.exit_status,
            .started_by = (uint32_t)raw->process.started_by,
        };
    profile->meta.folded_contexts += raw->folded;
    profile->meta.unrecorded_instructions += raw->unrecorded;
    if (raw->detail)
        profile->meta.detail = DETAIL_LINE;
    if (raw->process.ending > profile->meta.ended_early)
        profile->meta.ended_early = (uint8_t)raw->process.ending;
}

/* ---- the run ---- */

static int compare_counts(const void *a, const void *b)
{
    const struct block_count *one = a, *other = b;

    if (one->context != other->context)
        return one->context < other->context ? -1 : 1;
    return one->block < other->block ? -1 : one->block > other->block;
}

static char *join_pids(const struct raw_files *raws)
{
    char *pids = memory_duplicate_string("");

    for (size_t i = 0; i < raws->count; i++) {
        char *longer = memory_format("%s%s%llu", pids, i ? " " : "",
                                     (unsigned long long)raws->files[i]->process.pid);
        free(pids);
        pids = longer;
    }
    return pids;
}

static int read_all(struct reader *reader, const struct raw_files *raws, const char *folder,
                    struct error *error)
{
    struct profile *profile = reader->profile;
    const struct raw_file *first = raws->files[0];

    for (size_t i = 0; i < raws->count; i++)
        read_process(reader, raws->files[i]);
    for (size_t i = 0; i < raws->count; i++)
        if (!read_tables(reader, raws->files[i]))
            return error_set(error, "%s: the raw profile of process %llu is damaged", folder,
                             (unsigned long long)raws->files[i]->process.pid);
    raw_take_lines_out(profile);
    if (profile->count_count)
        qsort(profile->counts, profile->count_count, sizeof *profile->counts, compare_counts);
    profile->meta.engine = profile_intern(profile, first->engine);
    profile->meta.command = profile_intern(profile, first->command);
    profile->meta.exit_status = (int32_t)first->process.exit_status;
    char *pids = join_pids(raws);
    profile->meta.pids = profile_intern(profile, pids);
    free(pids);
    return OK;
}

static void reader_free(struct reader *reader)
{
    for (size_t i = 0; i < reader->profile->module_count; i++) {
        map_free(&reader->code[i].functions);
        map_free(&reader->code[i].sites);
        map_free(&reader->code[i].blocks);
    }
    free(reader->code);
    free(reader->lines);
    map_free(&reader->modules);
    map_free(&reader->chains);
}

int raw_read_run(const char *folder, struct raw_run *run, struct error *error)
{
    struct raw_files raws;
    struct reader reader = {.profile = profile_new()};

    int result = raw_files_read(&raws, folder, error);
    if (!result)
        result = read_all(&reader, &raws, folder, error);
    raw_files_free(&raws);
    reader_free(&reader);
    *array_push(reader.skips, reader.skip_count, reader.skip_capacity) = NULL;
    *array_push(reader.notes, reader.note_count, reader.note_capacity) = NULL;
    *run = (struct raw_run){
        .profile = reader.profile,
        .skip_objects = reader.skips,
        .notes = reader.notes,
        .lost_processes = raws.lost,
    };
    if (result) {
        profile_free(reader.profile);
        raw_run_free(run);
    }
    return result;
}

static void free_texts(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

void raw_run_free(struct raw_run *run)
{
    free_texts(run->skip_objects);
    free_texts(run->notes);
    run->skip_objects = run->notes = NULL;
}

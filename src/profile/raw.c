/*
 * raw.c: reads raw files (core/raw.h) into the tables of a profile.
 *
 * Modules, functions, sites, blocks and parts are shared by the processes of a run; contexts are
 * not, since each process has roots of its own. A thousand forks of one program thus cost a
 * thousand times its contexts, and one time its code.
 */
#include "profile/raw.h"
#include "common/memory.h"
#include "profile/order.h"
#include "profile/raw_lines.h"
#include "profile/raw_reader.h"

#include <stdlib.h>
#include <string.h>

/* Parts of different processes are one if they have the same name and label; two parts of one
 * process are two all the same: its second is the second of every other process too. `seen` says how
 * many of a name and label the process had before. */
static uint32_t read_part(struct reader *reader, struct cursor *cursor, struct map *seen)
{
    struct profile *profile = reader->profile;
    uint32_t name = raw_intern_taken(profile, cursor);
    uint32_t label = raw_intern_taken(profile, cursor);
    uint32_t *before = map_place(seen, map_pair(name, label));
    uint32_t nth = *before = *before == MAP_ABSENT ? 0 : *before + 1;
    uint32_t *first = map_place(&reader->first_parts, map_pair(name, label));

    if (*first == MAP_ABSENT)
        *first = (uint32_t)profile->part_count;
    uint32_t *place = map_place(&reader->parts, map_pair(*first, nth));
    if (*place == MAP_ABSENT) {
        *place = (uint32_t)profile->part_count;
        *array_push(profile->parts, profile->part_count, profile->part_capacity) =
            (struct part){.name = name, .label = label};
    }
    return *place;
}

/* Reads a table whose rows are shared; returns the profile's row for each of the file's. */
static uint32_t *read_rows(struct reader *reader, struct cursor *cursor, uint64_t row_bytes,
                           raw_read_row *read_row, const uint32_t *modules, uint64_t module_count,
                           uint64_t *count)
{
    *count = take_count(cursor, row_bytes);
    uint32_t *rows = memory_allocate(*count * sizeof *rows);
    for (uint64_t i = 0; i < *count && !cursor->damaged; i++)
        rows[i] = read_row(reader, cursor, modules, module_count);
    return rows;
}

static uint32_t *read_parts(struct reader *reader, struct cursor *cursor, uint64_t *count)
{
    *count = take_count(cursor, 16);
    uint32_t *rows = memory_allocate(*count * sizeof *rows);
    struct map seen = {0};
    for (uint64_t i = 0; i < *count && !cursor->damaged; i++)
        rows[i] = read_part(reader, cursor, &seen);
    map_free(&seen);
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
    uint64_t count_count; /* blocks that contexts say their rows of counts are for */
};

static void read_contexts(struct reader *reader, struct cursor *cursor, struct raw_rows *rows)
{
    struct profile *profile = reader->profile;
    uint64_t root_count = take_count(cursor, 24), last_root = 0;

    rows->first_context = profile->context_count;
    for (uint64_t i = 0; i < root_count && !cursor->damaged; i++) {
        uint64_t context = take(cursor);
        uint32_t thread = take_row(cursor, rows->thread_count);
        uint32_t part = take_row(cursor, rows->part_count);
        if (cursor->damaged)
            return;
        if (last_root < context)
            last_root = context;
        *array_push(profile->roots, profile->root_count, profile->root_capacity) = (struct root){
            .context = (uint32_t)(rows->first_context + context),
            .thread = (uint32_t)(rows->first_thread + thread),
            .part = rows->parts[part],
        };
    }
    rows->context_count = take_count(cursor, 6);
    if (root_count && last_root >= rows->context_count)
        cursor->damaged = true;
    profile->contexts =
        memory_grow(profile->contexts, &profile->context_capacity,
                    profile->context_count + rows->context_count, sizeof *profile->contexts);
    for (uint64_t i = 0; i < rows->context_count && !cursor->damaged; i++) {
        uint64_t back = take_number(cursor);
        uint64_t function = take_number(cursor);
        uint64_t site = take_number(cursor);
        if (back > i || function >= rows->function_count || site > rows->site_count)
            cursor->damaged = true;
        if (cursor->damaged)
            return;
        /* A line is below its function. */
        if (!back && rows->functions[function] & RAW_LINE_MARK) {
            cursor->damaged = true;
            return;
        }
        struct context *context =
            array_push(profile->contexts, profile->context_count, profile->context_capacity);
        *context = (struct context){
            .parent = back ? (uint32_t)(rows->first_context + i - back) : NONE,
            .function = rows->functions[function],
            .site = site ? rows->sites[site - 1] : NONE,
        };
        context->calls = take_number(cursor);
        context->self_instructions = take_number(cursor);
        uint64_t counts = take_number(cursor);
        if (counts > UINT32_MAX)
            cursor->damaged = true;
        *array_push(reader->row_counts, reader->row_counts_count, reader->row_counts_capacity) =
            (uint32_t)counts;
        rows->count_count += counts;
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

/* A context's first block that was counted, and how many follow it that were counted as often. */
struct raw_run_of_counts {
    uint64_t context, block, count, blocks;
};

/* Takes over the rows' blocks. */
static void begin_counts(struct reader *reader, struct cursor *cursor, struct raw_rows *rows)
{
    uint64_t count = take_count(cursor, 2);

    if (rows->count_count / RAW_RUN_MOST > count)
        cursor->damaged = true;
    *array_push(reader->counts, reader->counts_count, reader->counts_capacity) =
        (struct raw_counts){
            .cursor = *cursor,
            .left = count,
            .first_context = rows->first_context,
            .context_count = rows->context_count,
            .block_count = rows->block_count,
            .blocks = rows->blocks,
        };
    rows->blocks = NULL;
}

/* The next run of rows: its context and its first block; false: there is none, or it is damaged. */
static bool next_run(struct raw_counts *counts, struct raw_run_of_counts *run)
{
    if (!counts->left)
        return false;
    counts->left--;
    uint64_t step = take_number(&counts->cursor);
    counts->block += (uint64_t)number_to_signed(step >> 2);
    if (step & 1)
        counts->context += (uint64_t)take_signed(&counts->cursor);
    uint64_t times = take_number(&counts->cursor);
    uint64_t further = step & 2 ? take_number(&counts->cursor) : 0;
    if (counts->context >= counts->context_count || counts->block >= counts->block_count ||
        further >= RAW_RUN_MOST || further >= counts->block_count - counts->block)
        counts->cursor.damaged = true;
    *run = (struct raw_run_of_counts){
        .context = counts->context,
        .block = counts->block,
        .count = times,
        .blocks = 1 + further,
    };
    counts->block += further;
    return !counts->cursor.damaged;
}

/* Where the rows of contexts go. */
struct places {
    size_t *next; /* by context as it was read: where its next row goes */
    size_t *ends; /* and where its last one is to end */
};

/* Each row of a file to its context, which is said when all are in order. */
static bool deal_file(const struct reader *reader, struct raw_counts counts,
                      const struct places *places)
{
    struct block_count *rows = reader->profile->counts;
    const size_t count = reader->profile->count_capacity;
    struct raw_run_of_counts run;

    while (next_run(&counts, &run)) {
        size_t *next = &places->next[counts.first_context + run.context];
        if (run.blocks > count - *next)
            return false;
        struct block_count *to = rows + *next;
        *next += run.blocks;
        for (uint64_t i = 0; i < run.blocks; i++)
            to[i] = (struct block_count){.block = counts.blocks[run.block + i], .count = run.count};
    }
    for (uint64_t i = 0; i < counts.context_count; i++)
        if (places->next[counts.first_context + i] != places->ends[counts.first_context + i])
            return false;
    return take(&counts.cursor) == RAW_END && !counts.cursor.damaged;
}

/* `moved`: where contexts went; NULL: they are where they were. Sets where the rows of each end, as
 * contexts are now. */
static void find_places(struct reader *reader, const uint32_t *moved, struct places *places,
                        size_t *ends)
{
    size_t total = 0;

    for (size_t i = 0; i < reader->row_counts_count; i++)
        ends[moved ? moved[i] : i] += reader->row_counts[i];
    for (size_t i = 0; i < reader->profile->context_count; i++) {
        size_t count = ends[i];
        ends[i] = total;
        total += count;
    }
    for (size_t i = 0; i < reader->row_counts_count; i++) {
        size_t *end = &ends[moved ? moved[i] : i];
        places->next[i] = *end;
        places->ends[i] = *end += reader->row_counts[i];
    }
    reader->profile->count_capacity = total;
}

/* Returns the first file that is damaged, or how many files there are. */
static size_t deal_counts(struct reader *reader, const uint32_t *moved)
{
    struct profile *profile = reader->profile;
    struct places places = {
        .next = memory_allocate(reader->row_counts_count * sizeof *places.next),
        .ends = memory_allocate(reader->row_counts_count * sizeof *places.ends),
    };
    size_t *ends = memory_allocate_zeroed(profile->context_count, sizeof *ends);
    size_t file = 0;

    find_places(reader, moved, &places, ends);
    profile->counts = memory_allocate(profile->count_capacity * sizeof *profile->counts);
    while (file < reader->counts_count && deal_file(reader, reader->counts[file], &places))
        file++;
    free(places.next);
    free(places.ends);
    if (file == reader->counts_count)
        profile->count_count = order_dealt(profile->counts, ends, profile->context_count);
    free(ends);
    return file;
}

static void read_repairs(struct reader *reader, struct cursor *cursor)
{
    struct profile *profile = reader->profile;
    uint64_t count = take_count(cursor, 16);

    for (uint64_t i = 0; i < count && !cursor->damaged; i++) {
        uint32_t kind = raw_intern_taken(profile, cursor);
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

    rows.modules = read_rows(reader, cursor, 24, raw_read_module, NULL, 0, &rows.module_count);
    reader->jit = memory_allocate_zeroed(rows.module_count + 1, sizeof *reader->jit);
    reader->line_count = 0;
    rows.functions = read_rows(reader, cursor, 64, raw_read_function, rows.modules,
                               rows.module_count, &rows.function_count);
    rows.sites = read_rows(reader, cursor, 16, raw_read_site, rows.modules, rows.module_count,
                           &rows.site_count);
    rows.parts = read_parts(reader, cursor, &rows.part_count);
    rows.thread_count = read_threads(reader, raw);
    read_contexts(reader, cursor, &rows);
    read_site_pairs(reader, cursor, &rows);
    rows.blocks = read_rows(reader, cursor, 32, raw_read_block, rows.modules, rows.module_count,
                            &rows.block_count);
    read_repairs(reader, cursor);
    begin_counts(reader, cursor, &rows);
    free(rows.modules);
    free(rows.functions);
    free(rows.sites);
    free(rows.parts);
    free(rows.blocks);
    free(reader->jit);
    return !cursor->damaged;
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
    size_t whole = 0;
    while (whole < raws->count && read_tables(reader, raws->files[whole]))
        whole++;
    if (whole == raws->count) {
        uint32_t *moved = raw_take_lines_out(profile);
        whole = deal_counts(reader, moved);
        free(moved);
    }
    if (whole < raws->count)
        return error_set(error, "%s: the raw profile of process %llu is damaged", folder,
                         (unsigned long long)raws->files[whole]->process.pid);
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
    for (size_t i = 0; i < reader->counts_count; i++)
        free(reader->counts[i].blocks);
    free(reader->counts);
    free(reader->row_counts);
    free(reader->code);
    free(reader->lines);
    map_free(&reader->modules);
    map_free(&reader->chains);
    map_free(&reader->first_parts);
    map_free(&reader->parts);
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

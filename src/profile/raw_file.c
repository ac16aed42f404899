/*
 * raw_file.c: finds the raw files of a run, reads their heads and puts their processes in order.
 *
 * Processes are numbered by their place in the tree of processes, not by pid, so that two runs of
 * the same command give the same numbers.
 */
#include "profile/raw_file.h"
#include "common/memory.h"
#include "profile/profile.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- the bytes ---- */

uint64_t take(struct cursor *cursor)
{
    uint64_t word = 0;

    if (cursor->end - cursor->at < 8) {
        cursor->damaged = true;
        cursor->at = cursor->end;
        return 0;
    }
    memcpy(&word, cursor->at, 8);
    cursor->at += 8;
    return word;
}

const uint8_t *take_bytes(struct cursor *cursor, uint64_t *size_bytes)
{
    *size_bytes = take(cursor);
    if (*size_bytes > (uint64_t)(cursor->end - cursor->at)) {
        cursor->damaged = true;
        *size_bytes = 0;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += *size_bytes;
    return bytes;
}

char *take_text(struct cursor *cursor)
{
    uint64_t size_bytes;
    const uint8_t *bytes = take_bytes(cursor, &size_bytes);

    return strndup((const char *)bytes, size_bytes);
}

uint64_t take_count(struct cursor *cursor, uint64_t row_bytes)
{
    uint64_t count = take(cursor);

    if (count > (uint64_t)(cursor->end - cursor->at) / row_bytes) {
        cursor->damaged = true;
        return 0;
    }
    return count;
}

uint32_t take_row(struct cursor *cursor, uint64_t count)
{
    uint64_t row = take(cursor);

    if (row >= count) {
        cursor->damaged = true;
        return NONE;
    }
    return (uint32_t)row;
}

/* ---- one file ---- */

static bool read_head(struct raw_file *raw)
{
    struct cursor *cursor = &raw->cursor;

    *cursor = (struct cursor){.at = raw->file.bytes, .end = raw->file.bytes + raw->file.size_bytes};
    if (take(cursor) != RAW_MAGIC)
        return false;
    raw->process = (struct raw_process){
        .pid = take(cursor),
        .image = take(cursor),
        .parent_pid = take(cursor),
        .parent_image = take(cursor),
        .fork_ordinal = take(cursor),
        .started_by = take(cursor),
    };
    raw->detail = take(cursor);
    raw->process.ending = take(cursor);
    raw->process.exit_status = take(cursor);
    raw->folded = take(cursor);
    raw->unrecorded = take(cursor);
    raw->engine = take_text(cursor);
    raw->command = take_text(cursor);
    return !cursor->damaged;
}

static int read_file(const char *folder, const char *name, struct raw_file **raw,
                     struct error *error)
{
    char *path = memory_format("%s/%s", folder, name);

    *raw = memory_allocate_zeroed(1, sizeof **raw);
    int result = file_map(&(*raw)->file, path, error); /* was renamed: is whole, and stays */
    if (!result && !read_head(*raw))
        result = error_set(error, "%s: not a raw profile", path);
    free(path);
    return result;
}

/* ---- their order ---- */

static struct raw_file *find_image(struct raw_file **files, size_t count, uint64_t pid,
                                   uint64_t image)
{
    for (size_t i = 0; i < count; i++)
        if (files[i]->process.pid == pid && files[i]->process.image == image)
            return files[i];
    return NULL;
}

static int compare_files(const void *a, const void *b)
{
    const struct raw_process *one = &(*(struct raw_file *const *)a)->process;
    const struct raw_process *other = &(*(struct raw_file *const *)b)->process;

    /* Children of one parent: forks in their order, then what the parent itself became. */
    if (one->started_by != other->started_by)
        return one->started_by < other->started_by ? -1 : 1;
    if (one->fork_ordinal != other->fork_ordinal)
        return one->fork_ordinal < other->fork_ordinal ? -1 : 1;
    if (one->pid != other->pid)
        return one->pid < other->pid ? -1 : 1;
    return one->image < other->image ? -1 : one->image > other->image;
}

/* Parents before children, depth first, without recursion: the place of each file is found by
 * walking the sorted list of children of the one placed last. */
static void order_files(struct raw_file **files, size_t count)
{
    struct raw_file **ordered = memory_allocate(count * sizeof *ordered);
    struct raw_file **pending = memory_allocate(count * sizeof *pending);
    size_t placed = 0, waiting = 0;

    qsort(files, count, sizeof *files, compare_files);
    for (size_t i = 0; i < count; i++) {
        struct raw_file *raw = files[i];
        if (raw->process.started_by == RAW_EXEC)
            raw->parent = find_image(files, count, raw->process.pid, raw->process.image - 1);
        else if (raw->process.started_by == RAW_FORK)
            raw->parent =
                find_image(files, count, raw->process.parent_pid, raw->process.parent_image);
        if (raw->parent == raw)
            raw->parent = NULL;
    }
    for (size_t i = count; i-- > 0;)
        if (!files[i]->parent)
            pending[waiting++] = files[i];
    while (waiting) {
        struct raw_file *raw = pending[--waiting];
        raw->number = (uint32_t)placed;
        ordered[placed++] = raw;
        for (size_t i = count; i-- > 0;)
            if (files[i]->parent == raw)
                pending[waiting++] = files[i];
    }
    memcpy(files, ordered, placed * sizeof *files);
    free(ordered);
    free(pending);
}

/* ---- the folder ---- */

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);

    return length > suffix_length && !strcmp(name + length - suffix_length, suffix);
}

/* PID.IMAGE.raw.new */
bool raw_is_being_written(const char *name)
{
    return has_suffix(name, ".raw.new") && !kill((pid_t)strtol(name, NULL, 10), 0);
}

static int read_folder(struct raw_files *raws, const char *folder, DIR *directory,
                       struct error *error)
{
    for (struct dirent *entry; (entry = readdir(directory));) {
        raws->lost += has_suffix(entry->d_name, ".raw.new") && !raw_is_being_written(entry->d_name);
        if (has_suffix(entry->d_name, ".raw") &&
            read_file(folder, entry->d_name, array_push(raws->files, raws->count, raws->capacity),
                      error))
            return ERROR;
    }
    if (raws->count)
        return OK;
    if (raws->lost)
        return error_set(error, "%s: the engine could not write there: the disk is full", folder);
    return error_set(error, "%s: the engine left no profile", folder);
}

int raw_files_read(struct raw_files *raws, const char *folder, struct error *error)
{
    DIR *directory = opendir(folder);

    *raws = (struct raw_files){0};
    if (!directory)
        return error_set_errno(error, "%s", folder);
    int result = read_folder(raws, folder, directory, error);
    closedir(directory);
    if (!result)
        order_files(raws->files, raws->count);
    return result;
}

void raw_files_free(struct raw_files *raws)
{
    for (size_t i = 0; i < raws->count; i++) {
        file_unmap(&raws->files[i]->file);
        free(raws->files[i]->engine);
        free(raws->files[i]->command);
        free(raws->files[i]);
    }
    free(raws->files);
}

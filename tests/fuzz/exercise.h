/*
 * exercise.h: what a profile that a reader accepted must stand: the checker, every transform, every
 * writer, a diff with itself, skipping and merging; the sum is the same wherever it is asked for.
 */
#ifndef TRUEFLAME_EXERCISE_H
#define TRUEFLAME_EXERCISE_H

#include "common/file.h"
#include "common/memory.h"
#include "formats/diffs.h"
#include "formats/formats.h"
#include "formats/report.h"
#include "profile/merge.h"
#include "profile/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PATH_FRAMES 100000

static FILE *nowhere(void)
{
    static FILE *stream;

    if (!stream)
        stream = fopen("/dev/null", "w");
    return stream;
}

static void write_everywhere(const struct view *view)
{
    static const struct export_format *const formats[] = {
        &format_folded,  &format_pprof, &format_speedscope, &format_callgrind,
        &format_firefox, &format_svg,   &format_json,
    };
    static const struct diff_format *const diffs[] = {&diff_text, &diff_folded, &diff_json,
                                                      &diff_markdown};
    struct export_options options = {.title = "fuzz", .annotate = true};
    struct report_options report = {.limit = 5, .most_depth = 20};
    struct diff_options diff_options = {.base_name = "a", .new_name = "b", .limit = 5, .all = true};
    struct error error;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int style = FRAMES_NAME; style <= FRAMES_RAW; style++) {
            options.frames = (enum frames_style)style;
            formats[i]->write(view, &options, nowhere(), &error);
        }
    report_flat(view, &report, nowhere());
    report_tree(view, &report, nowhere());
    report_function(view, "*", &report, nowhere(), &error);
    struct diff *diff = diff_make(view, view);
    if (diff->base_sum != diff->new_sum)
        abort();
    for (size_t i = 0; i < sizeof diffs / sizeof *diffs; i++)
        diffs[i]->write(diff, &diff_options, nowhere(), &error);
    diff_free(diff);
}

static void transform_every_way(const struct profile *profile)
{
    static const char *const patterns[] = {"*a*", "*b"};
    struct transforms ways[] = {
        {0},
        {.choice = {.no_inline = true}, .fold_recursion = true},
        {.choice = {.split_threads = true}, .python = PYTHON_ONLY},
        {.skip = {.functions = patterns, .function_count = 2, .anon = true}},
        {.focus = "*a*", .python = PYTHON_NATIVE},
        {.root = "*b*", .invert = true, .fold_recursion = true},
    };
    struct view *view;
    struct error error;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (transforms_apply(profile, &ways[i], &view, &error))
            continue;
        if (view_total(view) != profile_total_instructions(profile))
            abort();
        if (view_path_frames(view) <= MOST_PATH_FRAMES && view->node_count < 1000)
            write_everywhere(view);
        view_free(view);
    }
}

static void exercise(struct profile *profile)
{
    static const char *const patterns[] = {"*a*"};
    struct skip_rules rules = {.functions = patterns, .function_count = 1};
    struct profile *merged = profile_new();
    struct profile_merger merger;
    struct error error;
    uint64_t total = profile_total_instructions(profile);

    if (profile_check(profile, "fuzz", &error))
        abort();
    transform_every_way(profile);
    merger_start(&merger, merged);
    if (merger_add(&merger, profile, "fuzz", &error) == OK &&
        merger_add(&merger, profile, "fuzz", &error) == OK &&
        (profile_check(merged, "fuzz", &error) || profile_total_instructions(merged) != 2 * total))
        abort();
    merger_finish(&merger);
    profile_free(merged);
    profile_skip(profile, &rules);
    if (profile_check(profile, "fuzz", &error) || profile_total_instructions(profile) != total)
        abort();
    profile_free(profile);
}

/* Importers may write into their input, and want a 0 behind it. */
static int exercise_import(const struct import_format *format, const uint8_t *data, size_t size)
{
    struct file_bytes input = {.bytes = memory_allocate(size + 1), .size_bytes = size};
    struct profile *profile;
    struct error error;

    memcpy(input.bytes, data, size);
    input.bytes[size] = 0;
    if (format->read(&input, "fuzz", &profile, &error) == OK)
        exercise(profile);
    else if (profile)
        abort();
    file_free(&input);
    return 0;
}

#endif

/*
 * report_lines.c: a source file with the instructions of each line.
 *
 * The file is named as the debug info names it, by any end of that path ("work.c" for
 * "/src/app/work.c"), or by a path that leads to it from here. Its text is shown where it can be read.
 */
#include "common/file.h"
#include "common/json.h"
#include "common/memory.h"
#include "formats/report.h"
#include "formats/text.h"
#include "profile/lines.h"

#include <stdlib.h>
#include <string.h>

/* Is `path` the file, or does it end in "/" and the file? */
static bool names_file(const char *path, const char *file)
{
    size_t path_length = strlen(path), file_length = strlen(file);

    if (path_length < file_length || strcmp(path + path_length - file_length, file))
        return false;
    return path_length == file_length || path[path_length - file_length - 1] == '/';
}

static void write_json(const struct profile *profile, const struct source_lines *lines,
                       const char *file, uint64_t total, FILE *stream)
{
    struct json json;

    json_start(&json, stream);
    json.pretty = true;
    json_object(&json);
    json_key_string(&json, "file", file);
    json_key_number(&json, "total_instructions", total);
    json_key(&json, "lines");
    json_array(&json);
    for (size_t i = 0; i < lines->count; i++) {
        const char *path = profile_string(profile, lines->lines[i].file);
        if (!names_file(path, file))
            continue;
        json_object(&json);
        json_key_string(&json, "file", path);
        json_key_number(&json, "line", lines->lines[i].line);
        json_key_number(&json, "instructions", lines->lines[i].instructions);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
}

static void write_line(uint32_t number, uint64_t instructions, uint64_t total, const char *text,
                       const struct report_options *options, FILE *stream)
{
    char grouped[GROUPED_BYTES];
    double percent = text_percent(instructions, total);

    if (instructions)
        fprintf(stream, "%20s %s%7.2f%%%s %6u  ", text_grouped(grouped, instructions),
                text_heat(percent, options->colour), percent, text_plain(options->colour), number);
    else
        fprintf(stream, "%20s %8s %6u  ", "", "", number);
    text_write_printable(stream, text);
    putc('\n', stream);
}

/* One path's lines, with the source text between and around them where it can be read. */
static void write_file(const char *path, const struct source_line *lines, size_t count,
                       uint64_t total, const struct report_options *options, FILE *stream)
{
    struct file_bytes source;
    struct error ignored;
    bool readable = file_read_ordinary(&source, path, SIZE_MAX, &ignored) == OK;
    char *at = readable ? (char *)source.bytes : NULL;
    size_t next = 0;

    putc('\n', stream);
    text_write_printable(stream, path);
    fputs(readable ? "\n" : " (its text cannot be read here)\n", stream);
    for (; next < count && lines[next].line == 0; next++)
        write_line(0, lines[next].instructions, total, "(lines not known)", options, stream);
    uint32_t number = 1;
    for (char *text; at && (text = strsep(&at, "\n")) && (at || *text); number++) {
        bool costs = next < count && lines[next].line == number;
        write_line(number, costs ? lines[next].instructions : 0, total, text, options, stream);
        next += costs;
    }
    for (; next < count; next++)
        write_line(lines[next].line, lines[next].instructions, total, "", options, stream);
    if (readable)
        file_free(&source);
}

static void write_text(const struct profile *profile, const struct source_lines *lines,
                       const char *file, uint64_t total, const struct report_options *options,
                       FILE *stream)
{
    char all[GROUPED_BYTES], here[GROUPED_BYTES];
    uint64_t sum = 0;

    for (size_t i = 0; i < lines->count; i++)
        if (names_file(profile_string(profile, lines->lines[i].file), file))
            sum += lines->lines[i].instructions;
    text_write_printable(stream, file);
    fprintf(stream, ": %s of %s instructions\n", text_grouped(here, sum), text_grouped(all, total));
    for (size_t i = 0; i < lines->count;) {
        size_t end = i;
        while (end < lines->count && lines->lines[end].file == lines->lines[i].file)
            end++;
        const char *path = profile_string(profile, lines->lines[i].file);
        if (names_file(path, file))
            write_file(path, &lines->lines[i], end - i, total, options, stream);
        i = end;
    }
}

static bool has_file(const struct profile *profile, const struct source_lines *lines,
                     const char *file)
{
    for (size_t i = 0; i < lines->count; i++)
        if (names_file(profile_string(profile, lines->lines[i].file), file))
            return true;
    return false;
}

int report_lines(const struct profile *profile, const struct transforms *transforms,
                 const char *file, const struct report_options *options, FILE *stream,
                 struct error *error)
{
    struct source_lines lines;
    char *absolute = NULL;

    source_lines_collect(&lines, profile, transforms->choice.part, transforms->python);
    if (!has_file(profile, &lines, file))
        absolute = realpath(file, NULL);
    const char *known = absolute ? absolute : file;
    int result = OK;
    if (!has_file(profile, &lines, known))
        result = error_set(
            error, "--lines=%s: the profile knows no line of such a file%s", file,
            profile->meta.detail == DETAIL_LINE ? "" : "; it was recorded at function detail");
    else if (options->json)
        write_json(profile, &lines, known, lines.total_instructions, stream);
    else
        write_text(profile, &lines, known, lines.total_instructions, options, stream);
    free(absolute);
    source_lines_free(&lines);
    return result;
}

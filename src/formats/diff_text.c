/*
 * diff_text.c: a diff for people: the sum, the functions, the paths, each by the size of its
 * change. Also as a Markdown table, for the comment on a pull request.
 */
#include "formats/diffs.h"
#include "formats/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *change_colour(uint64_t base, uint64_t new, bool on)
{
    return !on || base == new ? "" : new > base ? "\033[31m" : "\033[32m";
}

/* The widths of columns with changes (and their signs) and with counts. */
static int change_width(const struct diff *diff, const struct diff_options *options)
{
    uint64_t most = diff->base_sum > diff->new_sum ? diff->base_sum : diff->new_sum;

    return 1 + text_column(options->width, 19, most);
}

static int count_width(const struct diff *diff, const struct diff_options *options)
{
    uint64_t most = diff->base_sum > diff->new_sum ? diff->base_sum : diff->new_sum;

    return text_column(options->width, 18, most);
}

static void write_change(uint64_t base, uint64_t new, int width, const struct diff_options *options,
                         FILE *stream)
{
    char change[GROUPED_BYTES], percent[16];

    fprintf(stream, "%s%*s %9s%s ", change_colour(base, new, options->colour), width,
            text_grouped_signed(change, diff_change(base, new), true),
            diff_percent(percent, base, new), text_plain(options->colour));
}

static void write_sums(const struct diff *diff, const struct diff_options *options, FILE *stream)
{
    char grouped[GROUPED_BYTES], percent[16];

    fprintf(stream, "base   %20s  %s\n", text_grouped(grouped, diff->base_sum), options->base_name);
    fprintf(stream, "new    %20s  %s\n", text_grouped(grouped, diff->new_sum), options->new_name);
    fprintf(stream, "change %20s  %s\n",
            text_grouped_signed(grouped, diff_change(diff->base_sum, diff->new_sum), true),
            diff_percent(percent, diff->base_sum, diff->new_sum));
}

static void write_functions(const struct diff *diff, const struct diff_options *options,
                            FILE *stream)
{
    struct diff_function *functions = diff_functions(diff);
    struct diff_rows rows = diff_changed_functions(diff, functions);
    char base[GROUPED_BYTES], new[GROUPED_BYTES], total[GROUPED_BYTES];
    int wide = change_width(diff, options), narrow = count_width(diff, options);
    size_t used = (size_t)(wide + 10 + 1 + narrow + 1 + narrow + 1 + wide + 2);
    bool usual = wide == 20;

    fprintf(stream, "\n%*s %9s %*s %*s %*s  %s\n", wide, usual ? "own instructions" : "own", "",
            narrow, "base", narrow, "new", wide, usual ? "change with callees" : "all", "function");
    for (size_t i = 0; i < rows.count && i < options->limit; i++) {
        const struct diff_function *cost = &functions[rows.rows[i].index];
        const struct view_frame *frame = &diff->tree->frames[rows.rows[i].index];
        write_change(cost->base.self, cost->new.self, wide, options, stream);
        fprintf(stream, "%*s %*s %*s  ", narrow, text_grouped(base, cost->base.self), narrow,
                text_grouped(new, cost->new.self), wide,
                text_grouped_signed(total, diff_change(cost->base.total, cost->new.total), true));
        text_write_function(stream, frame->name, frame->object, text_left(options->width, used),
                            options->colour);
        putc('\n', stream);
    }
    if (rows.count > options->limit)
        fprintf(stream, "%*s%zu more functions (--limit)\n", (int)used, "",
                rows.count - options->limit);
    free(rows.rows);
    free(functions);
}

static void write_paths(const struct diff *diff, const struct diff_options *options, FILE *stream)
{
    struct diff_rows rows = diff_changed_nodes(diff);

    int wide = change_width(diff, options);
    size_t used = (size_t)(wide + 10 + 1 + 10 + 2);

    fprintf(stream, "\n%*s %9s %10s  %s\n", wide, wide == 20 ? "own instructions" : "own", "", "",
            "path");
    for (size_t i = 0; i < rows.count && i < options->limit; i++) {
        uint32_t node = rows.rows[i].index;
        const char *status = diff_status(diff, node), *inlining = diff_inlining(diff, node);
        char *path = diff_path(diff, node);
        write_change(rows.rows[i].base, rows.rows[i].new, wide, options, stream);
        fprintf(stream, "%10s  ", *status == 'c' ? "" : status);
        text_write_shortened(stream, path, text_left(options->width, used));
        if (inlining)
            fprintf(stream, " (%s)", inlining);
        putc('\n', stream);
        free(path);
    }
    if (rows.count > options->limit)
        fprintf(stream, "%*s%zu more paths (--limit)\n", (int)used, "",
                rows.count - options->limit);
    free(rows.rows);
}

/* Nodes where only the inlining changed have no cost to show, but say why a frame looks new. */
static void write_inlining(const struct diff *diff, const struct diff_options *options,
                           FILE *stream)
{
    size_t count = 0;

    for (uint32_t i = 0; i < diff->tree->node_count; i++) {
        const char *inlining = diff_inlining(diff, i);
        if (!inlining)
            continue;
        if (count++ == 0)
            fputs("\ninlining that changed\n", stream);
        if (count > options->limit)
            continue;
        char *path = diff_path(diff, i);
        fprintf(stream, "%20s  ", inlining);
        text_write_printable(stream, path);
        putc('\n', stream);
        free(path);
    }
    if (count > options->limit)
        fprintf(stream, "%22s%zu more (--limit)\n", "", count - options->limit);
}

static bool is_empty(const struct diff *diff)
{
    for (size_t i = 0; i < diff->tree->node_count; i++)
        if (diff->base_self[i] != diff->tree->self[i] ||
            diff->base_calls[i] != diff->tree->calls[i])
            return false;
    return true;
}

static int text_write(const struct diff *diff, const struct diff_options *options, FILE *stream,
                      struct error *error)
{
    char grouped[GROUPED_BYTES];

    (void)error;
    if (is_empty(diff)) {
        fprintf(stream, "no difference: %s instructions in both\n",
                text_grouped(grouped, diff->new_sum));
        return OK;
    }
    write_sums(diff, options, stream);
    write_functions(diff, options, stream);
    write_paths(diff, options, stream);
    write_inlining(diff, options, stream);
    return OK;
}

/* Whether an underscore is between letters, where it stands for itself. */
static bool is_within_word(const char *text, const char *at)
{
    const char *after = at + strspn(at, "_");

    while (at > text && *at == '_')
        at--;
    return (isalnum((unsigned char)*at) || *at & 0x80) &&
           (isalnum((unsigned char)*after) || *after & 0x80);
}

/* In a table cell a | would end it, a < would begin a tag, and `__init__` would be bold. */
static void write_cell(const char *text, FILE *stream)
{
    for (const char *start = text; *text; text++) {
        if (strchr("|`\\*[]~", *text) || (*text == '_' && !is_within_word(start, text)))
            putc('\\', stream);
        if (*text == '<')
            fputs("&lt;", stream);
        else if (*text == '&')
            fputs("&amp;", stream);
        else
            putc((unsigned char)*text < ' ' ? ' ' : *text, stream);
    }
}

static int markdown_write(const struct diff *diff, const struct diff_options *options, FILE *stream,
                          struct error *error)
{
    struct diff_function *functions = diff_functions(diff);
    struct diff_rows rows = diff_changed_functions(diff, functions);
    char base[GROUPED_BYTES], new[GROUPED_BYTES], change[GROUPED_BYTES], percent[16];

    (void)error;
    fprintf(stream, "**%s instructions** (%s), from %s to %s\n",
            text_grouped_signed(change, diff_change(diff->base_sum, diff->new_sum), true),
            diff->base_sum == diff->new_sum ? "no change"
                                            : diff_percent(percent, diff->base_sum, diff->new_sum),
            text_grouped(base, diff->base_sum), text_grouped(new, diff->new_sum));
    if (rows.count)
        fputs("\n| function | base | new | change | |\n|---|--:|--:|--:|--:|\n", stream);
    for (size_t i = 0; i < rows.count && i < options->limit; i++) {
        const struct diff_row *row = &rows.rows[i];
        if (row->base == row->new)
            break; /* from here on only what they call changed */
        fputs("| ", stream);
        write_cell(diff->tree->frames[row->index].name, stream);
        fprintf(stream, " | %s | %s | %s | %s |\n", text_grouped(base, row->base),
                text_grouped(new, row->new),
                text_grouped_signed(change, diff_change(row->base, row->new), true),
                diff_percent(percent, row->base, row->new));
    }
    free(rows.rows);
    free(functions);
    return OK;
}

const struct diff_format diff_text = {
    .name = "text",
    .summary = "tables of what changed",
    .write = text_write,
};

const struct diff_format diff_markdown = {
    .name = "markdown",
    .summary = "a table for a pull request",
    .write = markdown_write,
};

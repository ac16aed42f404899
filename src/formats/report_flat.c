/*
 * report_flat.c: one row a function: self, total (once per path), calls.
 */
#include "common/json.h"
#include "common/memory.h"
#include "formats/report.h"
#include "formats/text.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const struct view_frame *frame;
    struct function_cost cost;
    enum report_sort sort;
};

static uint64_t sort_key(const struct row *row)
{
    return row->sort == SORT_SELF    ? row->cost.self
           : row->sort == SORT_TOTAL ? row->cost.total
                                     : row->cost.calls;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (sort_key(x) != sort_key(y))
        return sort_key(x) > sort_key(y) ? -1 : 1;
    if (x->cost.total != y->cost.total)
        return x->cost.total > y->cost.total ? -1 : 1;
    int order = strcmp(x->frame->name, y->frame->name);
    if (!order)
        order = strcmp(x->frame->object, y->frame->object);
    return order ? order : (x->frame > y->frame) - (x->frame < y->frame);
}

static struct row *collect_rows(const struct view *view, enum report_sort sort, size_t *count)
{
    struct function_cost *costs = view_function_costs(view);
    struct row *rows = memory_allocate(view->frame_count * sizeof *rows);

    *count = 0;
    for (size_t i = 0; i < view->frame_count; i++)
        if (costs[i].total || costs[i].calls)
            rows[(*count)++] = (struct row){&view->frames[i], costs[i], sort};
    if (*count)
        qsort(rows, *count, sizeof *rows, compare_rows);
    free(costs);
    return rows;
}

static void write_json(const struct row *rows, size_t count, size_t shown, uint64_t total,
                       FILE *stream)
{
    struct json json;

    json_start(&json, stream);
    json.pretty = true;
    json_object(&json);
    json_key_number(&json, "total_instructions", total);
    json_key_number(&json, "function_count", count);
    json_key(&json, "functions");
    json_array(&json);
    for (size_t i = 0; i < shown; i++) {
        json_object(&json);
        json_key_string(&json, "name", rows[i].frame->name);
        json_key_string(&json, "object", rows[i].frame->object);
        json_key_string(&json, "file", rows[i].frame->file);
        json_key_number(&json, "line", rows[i].frame->line);
        json_key_number(&json, "self", rows[i].cost.self);
        json_key_number(&json, "total", rows[i].cost.total);
        json_key_number(&json, "calls", rows[i].cost.calls);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
}

struct widths {
    int self, total, calls;
    size_t all; /* of what stands before the name */
};

static struct widths measure(const struct row *rows, size_t count, uint64_t total,
                             const struct report_options *options)
{
    uint64_t most_calls = 0;

    for (size_t i = 0; i < count; i++)
        most_calls = rows[i].cost.calls > most_calls ? rows[i].cost.calls : most_calls;
    struct widths widths = {
        .self = text_column(options->width, 20, total),
        .total = text_column(options->width, 19, total),
        .calls = text_column(options->width, 15, most_calls),
    };
    widths.all = (size_t)(widths.self + 9 + 1 + widths.total + 9 + 1 + widths.calls + 2);
    return widths;
}

static void write_row(const struct row *row, uint64_t total, const struct widths *widths,
                      const struct report_options *options, FILE *stream)
{
    char self[GROUPED_BYTES], inclusive[GROUPED_BYTES], calls[GROUPED_BYTES];
    double self_percent = text_percent(row->cost.self, total);

    fprintf(stream, "%*s %s%7.2f%%%s %*s %7.2f%% %*s  ", widths->self,
            text_grouped(self, row->cost.self), text_heat(self_percent, options->colour),
            self_percent, text_plain(options->colour), widths->total,
            text_grouped(inclusive, row->cost.total), text_percent(row->cost.total, total),
            widths->calls, text_grouped(calls, row->cost.calls));
    text_write_function(stream, row->frame->name, row->frame->object,
                        text_left(options->width, widths->all), options->colour);
    putc('\n', stream);
}

void report_flat(const struct view *view, const struct report_options *options, FILE *stream)
{
    size_t count;
    struct row *rows = collect_rows(view, options->sort, &count);
    size_t shown = count < options->limit ? count : options->limit;
    uint64_t total = view_total(view);
    char grouped[GROUPED_BYTES];

    if (options->json) {
        write_json(rows, count, shown, total, stream);
        free(rows);
        return;
    }
    fprintf(stream, "%s instructions in %zu functions\n\n", text_grouped(grouped, total), count);
    struct widths widths = measure(rows, shown, total, options);
    fprintf(stream, "%*s %8s %*s %8s %*s  %s\n", widths.self, "self", "", widths.total, "total", "",
            widths.calls, "calls", "function");
    for (size_t i = 0; i < shown; i++)
        write_row(&rows[i], total, &widths, options, stream);
    if (shown < count) {
        uint64_t rest = 0;
        for (size_t i = shown; i < count; i++)
            rest += rows[i].cost.self;
        fprintf(stream, "%*s %7.2f%% %*s  %zu more functions (--limit)\n", widths.self,
                text_grouped(grouped, rest), text_percent(rest, total),
                widths.total + 10 + widths.calls, "", count - shown);
    }
    free(rows);
}

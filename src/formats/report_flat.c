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

static void write_row(const struct row *row, uint64_t total, const struct report_options *options,
                      FILE *stream)
{
    char self[GROUPED_BYTES], inclusive[GROUPED_BYTES], calls[GROUPED_BYTES];
    double self_percent = text_percent(row->cost.self, total);
    size_t used = 20 + 9 + 20 + 9 + 16 + 2;
    const char *object = text_base_name(row->frame->object);
    size_t object_length = *object ? strlen(object) + 3 : 0;
    size_t left = options->width > used + object_length ? options->width - used - object_length : 8;

    fprintf(stream, "%20s %s%7.2f%%%s %19s %7.2f%% %15s  ", text_grouped(self, row->cost.self),
            text_heat(self_percent, options->colour), self_percent, text_plain(options->colour),
            text_grouped(inclusive, row->cost.total), text_percent(row->cost.total, total),
            text_grouped(calls, row->cost.calls));
    text_write_shortened(stream, row->frame->name, options->width ? left : 0);
    text_write_object(stream, object, options->colour);
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
    fprintf(stream, "%20s %8s %19s %8s %15s  %s\n", "self", "", "total", "", "calls", "function");
    for (size_t i = 0; i < shown; i++)
        write_row(&rows[i], total, options, stream);
    if (shown < count) {
        uint64_t rest = 0;
        for (size_t i = shown; i < count; i++)
            rest += rows[i].cost.self;
        fprintf(stream, "%20s %7.2f%% %*s  %zu more functions (--limit)\n",
                text_grouped(grouped, rest), text_percent(rest, total), 44, "", count - shown);
    }
    free(rows);
}

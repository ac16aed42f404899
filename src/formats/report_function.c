/*
 * report_function.c: who calls a function, and what it calls.
 *
 * Both tables add up. Each path counts once: callers share the function's total by its outermost
 * call on a path; every instruction below the function belongs to one callee, the one that the
 * innermost call of the function on its path made. So self plus callees is total, recursion or not.
 */
#include "common/json.h"
#include "common/memory.h"
#include "formats/report.h"
#include "formats/text.h"
#include "profile/rules.h"

#include <stdlib.h>
#include <string.h>

#define SELF     (NONE - 1) /* an owner: the function itself */
#define NO_OWNER NONE

struct relative {
    const char *name, *object;
    uint64_t instructions, calls;
};

struct relatives {
    struct relative *rows; /* by frame; the last one is for calls from nowhere */
    size_t count;
    uint64_t self, total, calls;
};

static void relatives_start(struct relatives *relatives, const struct view *view)
{
    relatives->count = view->frame_count + 1;
    relatives->rows = memory_allocate_zeroed(relatives->count, sizeof *relatives->rows);
    for (size_t i = 0; i < view->frame_count; i++) {
        relatives->rows[i].name = view->frames[i].name;
        relatives->rows[i].object = view->frames[i].object;
    }
    relatives->rows[view->frame_count] = (struct relative){.name = "(nothing above)", .object = ""};
}

static void collect(const struct view *view, const uint8_t *matching, struct relatives *callers,
                    struct relatives *callees)
{
    uint64_t *totals = view_totals(view);
    uint32_t *owners = memory_allocate(view->node_count * sizeof *owners);

    for (size_t i = 0; i < view->node_count; i++) {
        uint32_t parent = view->parent[i], frame = view->frame[i];
        uint32_t above = parent == NONE ? NO_OWNER : owners[parent];
        owners[i] = matching[frame] ? SELF : above == SELF ? frame : above;
        if (owners[i] == SELF) {
            size_t caller = parent == NONE ? view->frame_count : view->frame[parent];
            callers->self += view->self[i];
            callers->calls += view->calls[i];
            callers->rows[caller].calls += view->calls[i];
            if (above == NO_OWNER) {
                callers->total += totals[i];
                callers->rows[caller].instructions += totals[i];
            }
        } else if (owners[i] != NO_OWNER) {
            callees->rows[owners[i]].instructions += view->self[i];
        }
        if (above == SELF)
            callees->rows[frame].calls += view->calls[i];
    }
    free(totals);
    free(owners);
}

static int compare_relatives(const void *a, const void *b)
{
    const struct relative *x = a, *y = b;

    if (x->instructions != y->instructions)
        return x->instructions > y->instructions ? -1 : 1;
    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->object, y->object);
}

static void drop_empty(struct relatives *relatives)
{
    size_t kept = 0;

    for (size_t i = 0; i < relatives->count; i++)
        if (relatives->rows[i].instructions || relatives->rows[i].calls)
            relatives->rows[kept++] = relatives->rows[i];
    relatives->count = kept;
    if (kept)
        qsort(relatives->rows, kept, sizeof *relatives->rows, compare_relatives);
}

static void json_relatives(struct json *json, const char *key, const struct relatives *relatives)
{
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < relatives->count; i++) {
        json_object(json);
        json_key_string(json, "name", relatives->rows[i].name);
        json_key_string(json, "object", relatives->rows[i].object);
        json_key_number(json, "instructions", relatives->rows[i].instructions);
        json_key_number(json, "calls", relatives->rows[i].calls);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_table(const char *title, const struct relatives *relatives, uint64_t total,
                        const struct report_options *options, FILE *stream)
{
    char instructions[GROUPED_BYTES], calls[GROUPED_BYTES];
    size_t shown = relatives->count < options->limit ? relatives->count : options->limit;

    fprintf(stream, "\n%20s %8s %15s  %s\n", "instructions", "", "calls", title);
    for (size_t i = 0; i < shown; i++) {
        const struct relative *row = &relatives->rows[i];
        double percent = text_percent(row->instructions, total);
        fprintf(stream, "%20s %s%7.2f%%%s %15s  ", text_grouped(instructions, row->instructions),
                text_heat(percent, options->colour), percent, text_plain(options->colour),
                text_grouped(calls, row->calls));
        text_write_function(stream, row->name, row->object,
                            text_left(options->width, 20 + 9 + 1 + 15 + 2), options->colour);
        putc('\n', stream);
    }
    if (shown < relatives->count)
        fprintf(stream, "%*s  %zu more (--limit)\n", 45, "", relatives->count - shown);
}

static void write_both(const char *pattern, const struct relatives *callers,
                       const struct relatives *callees, const struct report_options *options,
                       FILE *stream)
{
    char self[GROUPED_BYTES], total[GROUPED_BYTES], calls[GROUPED_BYTES];
    struct json json;

    if (!options->json) {
        text_write_printable(stream, pattern);
        fprintf(stream, ": %s instructions, %s of them its own, %s calls\n",
                text_grouped(total, callers->total), text_grouped(self, callers->self),
                text_grouped(calls, callers->calls));
        write_table("called from", callers, callers->total, options, stream);
        write_table("calls", callees, callers->total, options, stream);
        return;
    }
    json_start(&json, stream);
    json.pretty = true;
    json_object(&json);
    json_key_string(&json, "function", pattern);
    json_key_number(&json, "self", callers->self);
    json_key_number(&json, "total", callers->total);
    json_key_number(&json, "calls", callers->calls);
    json_relatives(&json, "callers", callers);
    json_relatives(&json, "callees", callees);
    json_end_object(&json);
}

int report_function(const struct view *view, const char *pattern,
                    const struct report_options *options, FILE *stream, struct error *error)
{
    uint8_t *matching = memory_allocate(view->frame_count);
    struct relatives callers = {0}, callees = {0};
    bool found = false;

    for (size_t i = 0; i < view->frame_count; i++)
        matching[i] = rule_matches_function(pattern, view->frames[i].name, view->frames[i].symbol);
    for (size_t i = 0; i < view->node_count && !found; i++)
        found = matching[view->frame[i]];
    if (!found) {
        free(matching);
        return error_set(error, "--function=%s: no such function in the profile", pattern);
    }
    relatives_start(&callers, view);
    relatives_start(&callees, view);
    collect(view, matching, &callers, &callees);
    drop_empty(&callers);
    drop_empty(&callees);
    write_both(pattern, &callers, &callees, options, stream);
    free(callers.rows);
    free(callees.rows);
    free(matching);
    return OK;
}

/*
 * json_tree.c: the tree as plain JSON, for programs; docs/json.md describes it.
 *
 * Columns instead of an object a node: a tenth of the size, and what table libraries read.
 */
#include "common/json.h"
#include "common/memory.h"
#include "config.h"
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [FUNCTION_NATIVE] = "native", [FUNCTION_ANON] = "anon",   [FUNCTION_PYTHON] = "python",
    [FUNCTION_JIT] = "jit",       [FUNCTION_ROOT] = "thread", [FUNCTION_MARKER] = "marker",
};

/* By frame its number in the file, NONE for one that no node shows: threads that were merged, what was
 * skipped. To be freed. */
static uint32_t *number_frames(const struct view *view)
{
    uint32_t *numbers = memory_allocate(view->frame_count * sizeof *numbers);
    uint32_t count = 0;

    memset(numbers, 0xff, view->frame_count * sizeof *numbers);
    for (size_t i = 0; i < view->node_count; i++)
        numbers[view->frame[i]] = 0;
    for (size_t i = 0; i < view->frame_count; i++)
        if (numbers[i] != NONE)
            numbers[i] = count++;
    return numbers;
}

static void write_frames(const struct view *view, const uint32_t *numbers, struct json *json)
{
    json_key(json, "frames");
    json_array(json);
    for (size_t i = 0; i < view->frame_count; i++) {
        const struct view_frame *frame = &view->frames[i];
        if (numbers[i] == NONE)
            continue;
        json_object(json);
        json_key_string(json, "name", frame->name);
        json_key_string(json, "kind", kind_names[frame->kind]);
        json_key_string(json, "object", frame->object);
        json_key_string(json, "symbol", frame->symbol);
        json_key_string(json, "file", frame->file);
        json_key_number(json, "line", frame->line);
        json_key_number(json, "start", frame->start);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_column(const struct view *view, const char *key, const uint64_t *values,
                         struct json *json)
{
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < view->node_count; i++)
        json_number(json, values[i]);
    json_end_array(json);
}

static void write_nodes(const struct view *view, const uint32_t *numbers, struct json *json)
{
    json_key(json, "nodes");
    json_object(json);
    json_key(json, "parent");
    json_array(json);
    for (size_t i = 0; i < view->node_count; i++)
        json_signed(json, view->parent[i] == NONE ? -1 : (int64_t)view->parent[i]);
    json_end_array(json);
    json_key(json, "frame");
    json_array(json);
    for (size_t i = 0; i < view->node_count; i++)
        json_number(json, numbers[view->frame[i]]);
    json_end_array(json);
    json_key(json, "inlined");
    json_array(json);
    for (size_t i = 0; i < view->node_count; i++)
        json_number(json, view->flags[i] & VIEW_INLINED);
    json_end_array(json);
    write_column(view, "self", view->self, json);
    write_column(view, "calls", view->calls, json);
    json_end_object(json);
}

static int json_tree_write(const struct view *view, const struct export_options *options,
                           FILE *stream, struct error *error)
{
    struct json json;

    (void)error;
    json_start(&json, stream);
    json_object(&json);
    json_key_string(&json, "format", "trueflame");
    json_key_number(&json, "version", 1);
    json_key_string(&json, "exporter", "trueflame " TRUEFLAME_VERSION);
    json_key_string(&json, "title", options->title);
    json_key_string(&json, "unit", "instructions");
    json_key_number(&json, "total_instructions", view_total(view));
    uint32_t *numbers = number_frames(view);
    write_frames(view, numbers, &json);
    write_nodes(view, numbers, &json);
    free(numbers);
    json_end_object(&json);
    return OK;
}

const struct export_format format_json = {
    .name = "json",
    .summary = "the tree in columns, for programs (docs/json.md)",
    .write = json_tree_write,
};

/*
 * speedscope.c: speedscope's own JSON, evented: each frame of the tree is opened and closed once,
 * at positions counted in instructions. The file is as large as the tree, not as its paths, and
 * streams in one walk. One profile a thread when threads are shown, else one. speedscope keeps
 * numbers as doubles: above 2^53 instructions its sums are no longer exact, the file's are.
 */
#include "common/json.h"
#include "common/memory.h"
#include "config.h"
#include "formats/formats.h"
#include "formats/order.h"

#include <stdlib.h>

/* Frame numbers without gaps, in the order they are listed; NONE: not in the tree. */
static uint32_t *list_frames(const struct view *view, struct json *json)
{
    uint32_t *numbers = memory_allocate(view->frame_count * sizeof *numbers);
    uint32_t next = 0;

    for (size_t i = 0; i < view->frame_count; i++)
        numbers[i] = NONE;
    json_key(json, "shared");
    json_object(json);
    json_key(json, "frames");
    json_array(json);
    for (size_t i = 0; i < view->node_count; i++) {
        const struct view_frame *frame = &view->frames[view->frame[i]];
        if (numbers[view->frame[i]] != NONE || frame->kind == FUNCTION_ROOT)
            continue;
        numbers[view->frame[i]] = next++;
        json_object(json);
        json_key_string(json, "name", frame->name);
        if (*frame->file)
            json_key_string(json, "file", frame->file);
        if (*frame->file && frame->line)
            json_key_number(json, "line", frame->line);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
    return numbers;
}

static void write_event(struct json *json, const char *type, uint32_t frame, uint64_t at)
{
    json_object(json);
    json_key_string(json, "type", type);
    json_key_number(json, "frame", frame);
    json_key_number(json, "at", at);
    json_end_object(json);
}

/* Everything below `top` (a thread's node, or all of the view when it is node_count). A frame's own
 * instructions come after those of what it called. */
static uint64_t write_events(const struct view *view, const struct view_links *links,
                             const uint32_t *numbers, size_t top, struct json *json)
{
    uint32_t node = links->first_child[top];
    uint32_t end = top == view->node_count ? NONE : (uint32_t)top;
    uint64_t at = 0;

    while (node != NONE) {
        write_event(json, "O", numbers[view->frame[node]], at);
        if (links->first_child[node] != NONE) {
            node = links->first_child[node];
            continue;
        }
        while (node != end) {
            at += view->self[node];
            write_event(json, "C", numbers[view->frame[node]], at);
            if (links->next_sibling[node] != NONE)
                break;
            node = view->parent[node];
        }
        node = node == end ? NONE : links->next_sibling[node];
    }
    return at;
}

static void write_profile(const struct view *view, const struct view_links *links,
                          const uint32_t *numbers, size_t top, const char *name, struct json *json)
{
    json_object(json);
    json_key_string(json, "type", "evented");
    json_key_string(json, "name", name);
    json_key_string(json, "unit", "none");
    json_key_number(json, "startValue", 0);
    json_key(json, "events");
    json_array(json);
    uint64_t end = write_events(view, links, numbers, top, json);
    json_end_array(json);
    json_key_number(json, "endValue", end);
    json_end_object(json);
}

static int speedscope_write(const struct view *view, const struct export_options *options,
                            FILE *stream, struct error *error)
{
    uint64_t *totals = view_totals(view);
    struct view_links links = order_by_total(view, totals);
    uint32_t first = links.first_child[view->node_count];
    struct json json;

    (void)error;
    json_start(&json, stream);
    json_object(&json);
    json_key_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_key_string(&json, "name", options->title);
    json_key_string(&json, "exporter", "trueflame@" TRUEFLAME_VERSION);
    uint32_t *numbers = list_frames(view, &json);
    json_key(&json, "profiles");
    json_array(&json);
    if (first != NONE && view_is_thread(view, first)) {
        for (uint32_t thread = first; thread != NONE; thread = links.next_sibling[thread])
            write_profile(view, &links, numbers, thread, view->frames[view->frame[thread]].name,
                          &json);
    } else {
        write_profile(view, &links, numbers, view->node_count, options->title, &json);
    }
    json_end_array(&json);
    json_end_object(&json);
    view_links_free(&links);
    free(numbers);
    free(totals);
    return OK;
}

const struct export_format format_speedscope = {
    .name = "speedscope",
    .summary = "speedscope's JSON, in instructions",
    .write = speedscope_write,
};

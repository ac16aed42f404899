/*
 * firefox.c: the Firefox Profiler's processed format, at version 49, which its loaders upgrade.
 *
 * The view's nodes are its stack table as they are. A node with a cost is one sample whose weight
 * is its instructions; the profiler knows no such unit, so they pose as samples. Time is only the
 * order of the samples. One thread when threads are merged, else one for each.
 */
#include "common/json.h"
#include "common/memory.h"
#include "config.h"
#include "formats/formats.h"

#include <stdlib.h>

#define FORMAT_VERSION 49
#define GECKO_VERSION  24

/* A thread's nodes, and the numbers that the view's nodes have among them. */
struct firefox {
    const struct view *view;
    struct json *json;
    uint32_t *local; /* by node: its number in its thread */
    uint32_t *nodes; /* of the thread being written */
    size_t node_count;
};

static void write_zeros(struct json *json, const char *key, size_t count, int64_t value)
{
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_signed(json, value);
    json_end_array(json);
}

static void write_nulls(struct json *json, const char *key, size_t count)
{
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_null(json);
    json_end_array(json);
}

/* One frame for each function, and another for it inlined: 2 * frame + inlined. */
static void write_frame_table(const struct view *view, struct json *json)
{
    size_t count = 2 * view->frame_count;

    json_key(json, "frameTable");
    json_object(json);
    json_key_number(json, "length", count);
    json_key(json, "func");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, i / 2);
    json_end_array(json);
    json_key(json, "inlineDepth");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, i % 2);
    json_end_array(json);
    json_key(json, "line");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, view->frames[i / 2].line);
    json_end_array(json);
    write_zeros(json, "address", count, -1);
    write_zeros(json, "category", count, 0);
    write_zeros(json, "subcategory", count, 0);
    write_nulls(json, "nativeSymbol", count);
    write_nulls(json, "innerWindowID", count);
    write_nulls(json, "column", count);
    json_end_object(json);
}

/* Strings: a name and a file for each frame, then the paths of the modules. */
static void write_func_table(const struct view *view, struct json *json)
{
    size_t count = view->frame_count;

    json_key(json, "funcTable");
    json_object(json);
    json_key_number(json, "length", count);
    json_key(json, "name");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, 2 * i);
    json_end_array(json);
    json_key(json, "fileName");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        if (*view->frames[i].file)
            json_number(json, 2 * i + 1);
        else
            json_null(json);
    json_end_array(json);
    json_key(json, "resource");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_signed(json, view->frames[i].function == NONE
                              ? -1
                              : (int64_t)view->profile->functions[i].module);
    json_end_array(json);
    json_key(json, "lineNumber");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, view->frames[i].line);
    json_end_array(json);
    json_key(json, "isJS");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_bool(json, false);
    json_end_array(json);
    json_key(json, "relevantForJS");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_bool(json, false);
    json_end_array(json);
    write_nulls(json, "columnNumber", count);
    json_end_object(json);
}

static void write_strings(const struct view *view, struct json *json)
{
    json_key(json, "stringArray");
    json_array(json);
    for (size_t i = 0; i < view->frame_count; i++) {
        json_string(json, view->frames[i].name);
        json_string(json, view->frames[i].file);
    }
    for (size_t i = 0; i < view->profile->module_count; i++)
        json_string(json, profile_string(view->profile, view->profile->modules[i].path));
    json_end_array(json);
}

static void write_resources(const struct view *view, struct json *json)
{
    size_t count = view->profile->module_count;

    json_key(json, "resourceTable");
    json_object(json);
    json_key_number(json, "length", count);
    json_key(json, "lib");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, i);
    json_end_array(json);
    json_key(json, "name");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, 2 * view->frame_count + i);
    json_end_array(json);
    write_nulls(json, "host", count);
    write_zeros(json, "type", count, 1); /* a library */
    json_end_object(json);
    json_key(json, "nativeSymbols");
    json_object(json);
    json_key_number(json, "length", 0);
    write_nulls(json, "address", 0);
    write_nulls(json, "functionSize", 0);
    write_nulls(json, "libIndex", 0);
    write_nulls(json, "name", 0);
    json_end_object(json);
}

static void write_stacks(const struct firefox *firefox)
{
    const struct view *view = firefox->view;
    struct json *json = firefox->json;

    json_key(json, "stackTable");
    json_object(json);
    json_key_number(json, "length", firefox->node_count);
    json_key(json, "frame");
    json_array(json);
    for (size_t i = 0; i < firefox->node_count; i++) {
        uint32_t node = firefox->nodes[i];
        json_number(json, 2 * (uint64_t)view->frame[node] + (view->flags[node] & VIEW_INLINED));
    }
    json_end_array(json);
    json_key(json, "prefix");
    json_array(json);
    for (size_t i = 0; i < firefox->node_count; i++) {
        uint32_t parent = view->parent[firefox->nodes[i]];
        if (parent == NONE || view_is_thread(view, parent))
            json_null(json);
        else
            json_number(json, firefox->local[parent]);
    }
    json_end_array(json);
    write_zeros(json, "category", firefox->node_count, 0);
    write_zeros(json, "subcategory", firefox->node_count, 0);
    json_end_object(json);
}

static size_t write_samples(const struct firefox *firefox)
{
    const struct view *view = firefox->view;
    struct json *json = firefox->json;
    size_t count = 0;

    json_key(json, "samples");
    json_object(json);
    json_key_string(json, "weightType", "samples");
    json_key(json, "stack");
    json_array(json);
    for (size_t i = 0; i < firefox->node_count; i++)
        if (view->self[firefox->nodes[i]]) {
            json_number(json, i);
            count++;
        }
    json_end_array(json);
    json_key(json, "weight");
    json_array(json);
    for (size_t i = 0; i < firefox->node_count; i++)
        if (view->self[firefox->nodes[i]])
            json_number(json, view->self[firefox->nodes[i]]);
    json_end_array(json);
    json_key(json, "time");
    json_array(json);
    for (size_t i = 0; i < count; i++)
        json_number(json, i);
    json_end_array(json);
    json_key_number(json, "length", count);
    json_end_object(json);
    return count;
}

static void write_markers(struct json *json)
{
    static const char *const columns[] = {"category", "data",  "endTime",
                                          "name",     "phase", "startTime"};

    json_key(json, "markers");
    json_object(json);
    json_key_number(json, "length", 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        write_nulls(json, columns[i], 0);
    json_end_object(json);
}

static void write_thread(const struct firefox *firefox, const char *name, uint64_t number)
{
    struct json *json = firefox->json;

    json_object(json);
    json_key_string(json, "processType", "default");
    json_key_number(json, "processStartupTime", 0);
    json_key(json, "processShutdownTime");
    json_null(json);
    json_key_number(json, "registerTime", 0);
    json_key(json, "unregisterTime");
    json_null(json);
    json_key(json, "pausedRanges");
    json_array(json);
    json_end_array(json);
    json_key_string(json, "name", name);
    json_key(json, "isMainThread");
    json_bool(json, number == 1);
    json_key_string(json, "processName", name);
    json_key_string(json, "pid", "1");
    json_key_number(json, "tid", number);
    write_samples(firefox);
    write_markers(json);
    write_stacks(firefox);
    write_frame_table(firefox->view, json);
    write_func_table(firefox->view, json);
    write_strings(firefox->view, json);
    write_resources(firefox->view, json);
    json_end_object(json);
}

/* Collects the nodes whose thread is `thread` (NONE: all nodes), in the view's order. */
static void collect_nodes(struct firefox *firefox, const uint32_t *tops, uint32_t thread)
{
    const struct view *view = firefox->view;

    firefox->node_count = 0;
    for (uint32_t i = 0; i < view->node_count; i++)
        if (tops[i] == thread && i != thread) {
            firefox->local[i] = (uint32_t)firefox->node_count;
            firefox->nodes[firefox->node_count++] = i;
        }
}

static void write_threads(struct firefox *firefox, const char *title)
{
    const struct view *view = firefox->view;
    uint32_t *tops = memory_allocate(view->node_count * sizeof *tops);
    uint64_t number = 0;

    json_key(firefox->json, "threads");
    json_array(firefox->json);
    for (uint32_t i = 0; i < view->node_count; i++)
        tops[i] = view_is_thread(view, i)   ? i
                  : view->parent[i] == NONE ? NONE
                                            : tops[view->parent[i]];
    for (uint32_t i = 0; i < view->node_count; i++)
        if (view_is_thread(view, i)) {
            collect_nodes(firefox, tops, i);
            write_thread(firefox, view->frames[view->frame[i]].name, ++number);
        }
    if (number == 0) {
        collect_nodes(firefox, tops, NONE);
        write_thread(firefox, title, 1);
    }
    json_end_array(firefox->json);
    free(tops);
}

static void write_meta(struct json *json, const char *title)
{
    static const char *const extension_columns[] = {"baseURL", "id", "name"};

    json_key(json, "meta");
    json_object(json);
    json_key_number(json, "preprocessedProfileVersion", FORMAT_VERSION);
    json_key_number(json, "version", GECKO_VERSION);
    json_key_string(json, "product", title);
    json_key_string(json, "importedFrom", "trueflame " TRUEFLAME_VERSION);
    json_key_number(json, "interval", 1);
    json_key_number(json, "startTime", 0);
    json_key_number(json, "processType", 0);
    json_key_number(json, "stackwalk", 1);
    json_key(json, "debug");
    json_bool(json, false);
    json_key(json, "symbolicated");
    json_bool(json, true);
    json_key(json, "usesOnlyOneStackType");
    json_bool(json, true);
    json_key(json, "doesNotUseFrameImplementation");
    json_bool(json, true);
    json_key(json, "sourceCodeIsNotOnSearchfox");
    json_bool(json, true);
    json_key(json, "categories");
    json_array(json);
    json_object(json);
    json_key_string(json, "name", "Other");
    json_key_string(json, "color", "grey");
    json_key(json, "subcategories");
    json_array(json);
    json_string(json, "Other");
    json_end_array(json);
    json_end_object(json);
    json_end_array(json);
    json_key(json, "extensions");
    json_object(json);
    json_key_number(json, "length", 0);
    for (size_t i = 0; i < sizeof extension_columns / sizeof *extension_columns; i++)
        write_nulls(json, extension_columns[i], 0);
    json_end_object(json);
    json_key(json, "markerSchema");
    json_array(json);
    json_end_array(json);
    json_end_object(json);
}

static void write_libs(const struct profile *profile, struct json *json)
{
    json_key(json, "libs");
    json_array(json);
    for (size_t i = 0; i < profile->module_count; i++) {
        const char *path = profile_string(profile, profile->modules[i].path);
        json_object(json);
        json_key_string(json, "arch", "");
        json_key_string(json, "name", path);
        json_key_string(json, "path", path);
        json_key_string(json, "debugName", path);
        json_key_string(json, "debugPath", path);
        json_key_string(json, "breakpadId", "");
        json_key_string(json, "codeId", profile_string(profile, profile->modules[i].build_id));
        json_end_object(json);
    }
    json_end_array(json);
}

static int firefox_write(const struct view *view, const struct export_options *options,
                         FILE *stream, struct error *error)
{
    struct json json;
    struct firefox firefox = {
        .view = view,
        .json = &json,
        .local = memory_allocate(view->node_count * sizeof(uint32_t)),
        .nodes = memory_allocate(view->node_count * sizeof(uint32_t)),
    };

    (void)error;
    json_start(&json, stream);
    json_object(&json);
    write_meta(&json, options->title);
    write_libs(view->profile, &json);
    write_threads(&firefox, options->title);
    json_end_object(&json);
    free(firefox.local);
    free(firefox.nodes);
    return OK;
}

const struct export_format format_firefox = {
    .name = "firefox",
    .summary = "the Firefox Profiler's processed format",
    .write = firefox_write,
};

/*
 * pprof.c: profile.proto, gzip-compressed, as `go tool pprof` and many others read it.
 *
 * A sample is a node of the view with a cost or calls of its own; its stack is leaf first. A
 * function and the functions inlined in it are one location with several lines, innermost first:
 *
 *     main;work;helper[i];leaf   ->   [leaf] [helper work] [main]
 *
 * A line of a location is the one that executes or calls; for a sample that has only calls, the
 * one where the function is declared.
 *
 * Addresses are those of the functions, each object moved to a range of its own so that mappings
 * do not overlap. Samples are written as they are found; only the string, function and location
 * tables are kept, which are as large as the number of functions. Values are signed 64-bit: a
 * profile that passes them is refused.
 */
#include "common/map.h"
#include "common/memory.h"
#include "formats/formats.h"
#include "formats/gzip.h"
#include "formats/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINES = 10
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum {
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_LINE = 5
};

#define PAGE_BYTES 4096

/* A function, or one more function inlined in `outer`. */
struct pprof_location {
    uint32_t frame;
    uint32_t outer; /* location, NONE for the function that has the code */
};

struct pprof {
    const struct view *view;
    struct gzip gzip;
    struct profile *strings; /* numbers the texts */
    struct protobuf message, part;
    struct pprof_location *locations;
    size_t location_count, location_capacity;
    struct map location_of;  /* (outer, frame) -> location */
    uint32_t *node_location; /* by node */
    uint8_t *frame_used;     /* by frame: stands in a location */
    uint64_t *module_start;  /* by module: where its addresses begin */
};

static uint64_t text_number(struct pprof *pprof, const char *text)
{
    return profile_intern(pprof->strings, text);
}

static void write_field(struct pprof *pprof, unsigned field)
{
    struct protobuf whole = {0};

    protobuf_message(&whole, field, &pprof->message);
    gzip_write(&pprof->gzip, whole.bytes, whole.count);
    protobuf_free(&whole);
    pprof->message.count = 0;
}

static void write_value_type(struct pprof *pprof, unsigned field, const char *type)
{
    protobuf_number(&pprof->message, VALUE_TYPE, text_number(pprof, type));
    protobuf_number(&pprof->message, VALUE_UNIT, text_number(pprof, "count"));
    write_field(pprof, field);
}

/* A function at one of its lines is that function; made-up frames are functions of their own. */
static uint32_t function_frame(const struct view *view, uint32_t frame)
{
    return view->frames[frame].at_line ? view->frames[frame].function : frame;
}

static void number_locations(struct pprof *pprof)
{
    const struct view *view = pprof->view;

    for (size_t i = 0; i < view->node_count; i++) {
        uint32_t outer = NONE;
        if (view->flags[i] & VIEW_INLINED && view->parent[i] != NONE)
            outer = pprof->node_location[view->parent[i]];
        uint32_t *place = map_place(&pprof->location_of, map_pair(outer, view->frame[i]));
        if (*place == MAP_ABSENT) {
            *array_push(pprof->locations, pprof->location_count, pprof->location_capacity) =
                (struct pprof_location){view->frame[i], outer};
            *place = (uint32_t)pprof->location_count - 1;
            pprof->frame_used[function_frame(view, view->frame[i])] = 1;
        }
        pprof->node_location[i] = *place;
    }
}

/* The stack, leaf first: inlined frames are in the location of the innermost one. */
static void put_stack(struct pprof *pprof, uint32_t node, uint32_t *thread)
{
    const struct view *view = pprof->view;
    bool inside = false; /* the node below was inlined in this one */

    *thread = NONE;
    pprof->part.count = 0;
    for (uint32_t at = node; at != NONE; at = view->parent[at]) {
        if (view_is_thread(view, at))
            *thread = at;
        else if (!inside)
            protobuf_varint(&pprof->part, pprof->node_location[at] + 1);
        inside = view->flags[at] & VIEW_INLINED;
    }
    protobuf_message(&pprof->message, SAMPLE_LOCATION, &pprof->part);
}

static void write_sample(struct pprof *pprof, uint32_t node)
{
    const struct view *view = pprof->view;
    uint32_t thread;

    put_stack(pprof, node, &thread);
    pprof->part.count = 0;
    protobuf_varint(&pprof->part, view->calls[node]);
    protobuf_varint(&pprof->part, view->self[node]);
    protobuf_message(&pprof->message, SAMPLE_VALUE, &pprof->part);
    if (thread != NONE) {
        pprof->part.count = 0;
        protobuf_number(&pprof->part, LABEL_KEY, text_number(pprof, "thread"));
        protobuf_number(&pprof->part, LABEL_TEXT,
                        text_number(pprof, view->frames[view->frame[thread]].name));
        protobuf_message(&pprof->message, SAMPLE_LABEL, &pprof->part);
    }
    write_field(pprof, PROFILE_SAMPLE);
}

static void write_mappings(struct pprof *pprof)
{
    const struct profile *profile = pprof->view->profile;
    uint64_t *ends = memory_allocate_zeroed(profile->module_count, sizeof *ends);
    uint64_t next = PAGE_BYTES;

    for (size_t i = 0; i < profile->function_count; i++) {
        const struct function *function = &profile->functions[i];
        uint64_t end = function->start + function->size + 1;
        if (end > ends[function->module] && profile->modules[function->module].kind == MODULE_FILE)
            ends[function->module] = end;
    }
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct module *module = &profile->modules[i];
        uint64_t size = (ends[i] / PAGE_BYTES + 1) * PAGE_BYTES;
        pprof->module_start[i] = next;
        protobuf_number(&pprof->message, MAPPING_ID, i + 1);
        protobuf_number(&pprof->message, MAPPING_START, next);
        protobuf_number(&pprof->message, MAPPING_LIMIT, next + size);
        protobuf_number(&pprof->message, MAPPING_FILE,
                        text_number(pprof, profile_string(profile, module->path)));
        protobuf_number(&pprof->message, MAPPING_BUILD_ID,
                        text_number(pprof, profile_string(profile, module->build_id)));
        /* Says that everything is named: readers must not look for symbols themselves. */
        for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
            protobuf_number(&pprof->message, field, 1);
        write_field(pprof, PROFILE_MAPPING);
        next += size;
    }
    free(ends);
}

static uint64_t function_number(const struct pprof *pprof, uint32_t location)
{
    return (uint64_t)function_frame(pprof->view, pprof->locations[location].frame) + 1;
}

static void write_locations(struct pprof *pprof)
{
    const struct view *view = pprof->view;

    for (size_t i = 0; i < pprof->location_count; i++) {
        uint32_t real = (uint32_t)i;
        while (pprof->locations[real].outer != NONE)
            real = pprof->locations[real].outer;
        const struct view_frame *frame = &view->frames[pprof->locations[real].frame];
        protobuf_number(&pprof->message, LOCATION_ID, i + 1);
        if (frame->function != NONE) {
            uint32_t module = view->profile->functions[frame->function].module;
            protobuf_number(&pprof->message, LOCATION_MAPPING, module + 1);
            if (frame->module_kind == MODULE_FILE)
                protobuf_number(&pprof->message, LOCATION_ADDRESS,
                                pprof->module_start[module] + frame->start);
        }
        for (uint32_t at = (uint32_t)i; at != NONE; at = pprof->locations[at].outer) {
            pprof->part.count = 0;
            frame = &view->frames[pprof->locations[at].frame];
            protobuf_number(&pprof->part, LINE_FUNCTION, function_number(pprof, at));
            protobuf_number(&pprof->part, LINE_NUMBER,
                            frame->at_line ? frame->at_line : frame->line);
            protobuf_message(&pprof->message, LOCATION_LINE, &pprof->part);
        }
        write_field(pprof, PROFILE_LOCATION);
    }
}

static void write_functions(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->view->frame_count; i++) {
        const struct view_frame *frame = &pprof->view->frames[i];
        if (!pprof->frame_used[i])
            continue;
        protobuf_number(&pprof->message, FUNCTION_ID, i + 1);
        protobuf_number(&pprof->message, FUNCTION_NAME, text_number(pprof, frame->name));
        protobuf_number(&pprof->message, FUNCTION_SYSTEM_NAME,
                        text_number(pprof, *frame->symbol ? frame->symbol : frame->name));
        protobuf_number(&pprof->message, FUNCTION_FILE, text_number(pprof, frame->file));
        protobuf_number(&pprof->message, FUNCTION_LINE, frame->line);
        write_field(pprof, PROFILE_FUNCTION);
    }
}

static void write_tail(struct pprof *pprof, const char *title)
{
    write_value_type(pprof, PROFILE_PERIOD_TYPE, "instructions");
    protobuf_number(&pprof->message, PROFILE_PERIOD, 1);
    protobuf_number(&pprof->message, PROFILE_COMMENT, text_number(pprof, title));
    protobuf_number(&pprof->message, PROFILE_DEFAULT_SAMPLE_TYPE,
                    text_number(pprof, "instructions"));
    gzip_write(&pprof->gzip, pprof->message.bytes, pprof->message.count);
    pprof->message.count = 0;
    for (size_t i = 0; i < pprof->strings->string_count; i++)
        protobuf_text(&pprof->message, PROFILE_STRING, pprof->strings->strings[i]);
    gzip_write(&pprof->gzip, pprof->message.bytes, pprof->message.count);
}

static void pprof_free(struct pprof *pprof)
{
    profile_free(pprof->strings);
    protobuf_free(&pprof->message);
    protobuf_free(&pprof->part);
    map_free(&pprof->location_of);
    free(pprof->locations);
    free(pprof->node_location);
    free(pprof->frame_used);
    free(pprof->module_start);
}

static int pprof_write(const struct view *view, const struct export_options *options, FILE *stream,
                       struct error *error)
{
    struct pprof pprof = {.view = view};

    if (view_total(view) > INT64_MAX)
        return error_set(error, "pprof: the counts exceed its signed 64 bits");
    pprof.strings = profile_new();
    pprof.node_location = memory_allocate(view->node_count * sizeof *pprof.node_location);
    pprof.frame_used = memory_allocate_zeroed(view->frame_count, 1);
    pprof.module_start =
        memory_allocate_zeroed(view->profile->module_count, sizeof *pprof.module_start);
    gzip_start(&pprof.gzip, stream);
    write_value_type(&pprof, PROFILE_SAMPLE_TYPE, "calls");
    write_value_type(&pprof, PROFILE_SAMPLE_TYPE, "instructions");
    number_locations(&pprof);
    for (uint32_t i = 0; i < view->node_count; i++)
        if (view->self[i] || view->calls[i])
            write_sample(&pprof, i);
    write_mappings(&pprof);
    write_locations(&pprof);
    write_functions(&pprof);
    write_tail(&pprof, options->title);
    gzip_finish(&pprof.gzip);
    pprof_free(&pprof);
    return OK;
}

const struct export_format format_pprof = {
    .name = "pprof",
    .summary = "profile.proto, gzip: instructions and calls",
    .by_line = true,
    .long_paths = true,
    .write = pprof_write,
};

/*
 * html.c: the viewer's page.
 *
 * The page is src/viewer, joined when the program is built, and between its two halves the
 * recording: base64 of a zlib stream of columns. Columns of varints, since most numbers are
 * small and equal things stand together: a million contexts take some 5 MB. The page decodes
 * them in a tenth of a second and needs no network, no server and no other file.
 *
 * The data, version 1. Numbers are LEB128 varints, 64 bits unsigned at most; a table is its count
 * of rows, then each column whole; texts are numbers of strings.
 *
 *   "TFPG" 1
 *   flags      1: a difference, with old counts
 *   strings    count, byte length of each, all their bytes (UTF-8 as the program had it)
 *   meta       count, (key, value) each: title, unit, then what the About box lists
 *   modules    path, kind (enum module_kind), note
 *   functions  name, module, kind (enum function_kind), file, line
 *   processes  command
 *   threads    process, ordinal, name
 *   parts      name, label
 *   roots      thread, part, number of nodes
 *   nodes      of all roots, one after the other, in preorder; the first of each root is the
 *              thread itself, not shown. No count: the roots' sum. Columns:
 *                climb     levels up from the node before to this one's parent: 0 is its child
 *                frame     function * 2 + (inlined ? 1 : 0)
 *                self      instructions
 *                calls
 *                old self, old calls, inlining    in a difference: inlining is 1 for now inlined,
 *                                                 2 for no longer inlined, otherwise 0
 *   lines      function, file, line, instructions; sorted by function
 *   sources    count, (file, text) each, with --embed-source
 *
 * No two siblings have the same frame. Only functions that occur are there, numbered as they
 * occur. The same profile and transforms give the same bytes: nothing of date, host or pid.
 */
#include "formats/html.h"

#include "common/map.h"
#include "common/memory.h"
#include "config.h"
#include "formats/formats.h"
#include "formats/html_bytes.h"
#include "formats/html_source.h"
#include "profile/lines.h"
#include "viewer/page.h"

#include <stdlib.h>
#include <string.h>

struct page_module {
    uint32_t path;
    uint8_t kind;
    uint32_t note;
};

struct page_function {
    uint32_t name, module, file, line;
    uint8_t kind;
};

struct page_root {
    uint32_t thread, part;
    uint64_t nodes;
};

enum node_column { CLIMB, FRAME, SELF, CALLS, OLD_SELF, OLD_CALLS, INLINING, NODE_COLUMNS };

struct page {
    struct profile *strings; /* only its string table is used */
    struct page_module *modules;
    size_t module_count, module_capacity;
    struct map module_of; /* path and kind to module */
    struct page_function *functions;
    size_t function_count, function_capacity;
    struct map function_of; /* function of the profile to function of the page */
    struct map made_up_of;  /* name and kind of a made-up frame to function of the page */
    struct page_root *roots;
    size_t root_count, root_capacity;
    struct html_bytes nodes[NODE_COLUMNS];
    struct html_bytes meta;
    size_t meta_count;
};

static uint32_t page_string(struct page *page, const char *text)
{
    return profile_intern(page->strings, text);
}

static void page_meta(struct page *page, const char *key, const char *value)
{
    html_bytes_number(&page->meta, page_string(page, key));
    html_bytes_number(&page->meta, page_string(page, value));
    page->meta_count++;
}

static void page_meta_number(struct page *page, const char *key, uint64_t value)
{
    char *text = memory_format("%llu", (unsigned long long)value);

    page_meta(page, key, text);
    free(text);
}

static uint32_t page_module(struct page *page, const char *path, uint8_t kind)
{
    uint32_t *place = map_place(&page->module_of, map_pair(page_string(page, path), kind));

    if (*place == MAP_ABSENT) {
        *array_push(page->modules, page->module_count, page->module_capacity) =
            (struct page_module){.path = page_string(page, path), .kind = kind};
        *place = (uint32_t)page->module_count - 1;
    }
    return *place;
}

static uint32_t page_function(struct page *page, const struct view_frame *frame)
{
    uint32_t *place =
        frame->function == NONE
            ? map_place(&page->made_up_of, map_pair(page_string(page, frame->name),
                                                    page_module(page, frame->object,
                                                                frame->module_kind) * 8u +
                                                        frame->kind))
            : map_place(&page->function_of, frame->function);

    if (*place != MAP_ABSENT)
        return *place;
    *array_push(page->functions, page->function_count, page->function_capacity) =
        (struct page_function){
            .name = page_string(page, frame->name),
            .module = page_module(page, frame->object, frame->module_kind),
            .file = page_string(page, frame->file),
            .line = frame->line,
            .kind = frame->kind,
        };
    *place = (uint32_t)page->function_count - 1;
    return *place;
}

/* The nodes of one view (or of the subtree of its node `top`) as one root; `diff` may be NULL. */
struct root_writer {
    struct page *page;
    const struct view *view;
    const struct diff *diff;
    uint32_t *functions; /* by frame of the view; NONE: not asked for yet */
    struct view_links links;
};

static void put_node(struct root_writer *writer, uint32_t node, uint64_t climb)
{
    const struct view *view = writer->view;
    struct html_bytes *columns = writer->page->nodes;
    uint32_t *function = &writer->functions[view->frame[node]];
    bool inlined = view->flags[node] & VIEW_INLINED;

    if (*function == NONE)
        *function = page_function(writer->page, &view->frames[view->frame[node]]);
    if (writer->diff)
        inlined = diff_is_inlined(writer->diff, node);
    html_bytes_number(&columns[CLIMB], climb);
    html_bytes_number(&columns[FRAME], *function * 2ull + inlined);
    html_bytes_number(&columns[SELF], view->self[node]);
    html_bytes_number(&columns[CALLS], view->calls[node]);
    if (!writer->diff)
        return;
    const char *change = diff_inlining(writer->diff, node);
    html_bytes_number(&columns[OLD_SELF], writer->diff->base_self[node]);
    html_bytes_number(&columns[OLD_CALLS], writer->diff->base_calls[node]);
    html_bytes_number(&columns[INLINING], !change ? 0 : change[0] == 'n' && change[2] == 'w' ? 1 : 2);
}

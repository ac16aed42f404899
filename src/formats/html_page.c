#include "formats/html_page.h"

#include "common/memory.h"
#include "viewer/page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 1
#define FLAG_DIFF      1

void page_start(struct page *page, bool is_diff)
{
    *page = (struct page){.is_diff = is_diff, .strings = profile_new()};
}

static struct page_table *page_tables(struct page *page, size_t index)
{
    struct page_table *const tables[] = {
        &page->modules, &page->functions, &page->processes, &page->threads,
        &page->parts,   &page->roots,     &page->lines,
    };

    return index < sizeof tables / sizeof *tables ? tables[index] : NULL;
}

void page_free(struct page *page)
{
    struct page_table *table;

    for (size_t i = 0; (table = page_tables(page, i)); i++)
        for (size_t k = 0; k < sizeof table->columns / sizeof *table->columns; k++)
            html_bytes_free(&table->columns[k]);
    for (size_t i = 0; i < PAGE_COLUMNS; i++)
        html_bytes_free(&page->nodes[i]);
    html_bytes_free(&page->meta);
    html_bytes_free(&page->sources);
    map_free(&page->module_of);
    map_free(&page->function_of);
    map_free(&page->made_up_of);
    profile_free(page->strings);
}

uint32_t page_string(struct page *page, const char *text)
{
    return profile_intern(page->strings, text);
}

void page_meta(struct page *page, const char *key, const char *value)
{
    html_bytes_number(&page->meta, page_string(page, key));
    html_bytes_number(&page->meta, page_string(page, value));
    page->meta_count++;
}

void page_meta_number(struct page *page, const char *key, uint64_t value)
{
    char *text = memory_format("%llu", (unsigned long long)value);

    page_meta(page, key, text);
    free(text);
}

void page_row(struct page_table *table, const uint64_t *numbers, size_t count)
{
    assert(count <= sizeof table->columns / sizeof *table->columns);
    for (size_t i = 0; i < count; i++)
        html_bytes_number(&table->columns[i], numbers[i]);
    table->count++;
}

uint32_t page_module(struct page *page, const char *path, uint8_t kind, const char *note)
{
    uint32_t *place = map_place(&page->module_of, map_pair(page_string(page, path), kind));

    if (*place == MAP_ABSENT) {
        *place = (uint32_t)page->modules.count;
        PAGE_ROW(&page->modules, page_string(page, path), kind, page_string(page, note));
    }
    return *place;
}

uint32_t page_function(struct page *page, const struct view *view, uint32_t index)
{
    const struct view_frame *frame = &view->frames[index];
    const char *note = "";

    if (frame->function != NONE) {
        const struct profile *profile = view->profile;
        uint32_t module = profile->functions[frame->function].module;
        note = profile_string(profile, profile->modules[module].note);
    }
    uint32_t module = page_module(page, frame->object, frame->module_kind, note);
    uint32_t name = page_string(page, frame->name);
    uint32_t *place = frame->function == NONE
                          ? map_place(&page->made_up_of, map_pair(name, module * 8 + frame->kind))
                          : map_place(&page->function_of, frame->function);
    if (*place == MAP_ABSENT) {
        *place = (uint32_t)page->functions.count;
        PAGE_ROW(&page->functions, name, module, frame->kind, page_string(page, frame->file),
                 frame->line);
    }
    return *place;
}

struct root_writer {
    struct page *page;
    const struct view *view;
    const struct diff *diff;
    uint32_t *functions; /* by frame of the view; NONE: not asked for yet */
    uint64_t nodes;
};

/* In a difference one node stands for inlined and called copies: it is drawn as what it is in the
 * new profile, or was in the old one where the new one lacks it. */
static bool is_inlined(const struct root_writer *writer, uint32_t node)
{
    if (!writer->diff)
        return writer->view->flags[node] & VIEW_INLINED;
    uint8_t presence = writer->diff->presence[node];
    return presence & DIFF_IN_NEW ? !(presence & DIFF_CALLED_IN_NEW)
                                  : !(presence & DIFF_CALLED_IN_BASE);
}

static void put_node(struct root_writer *writer, uint32_t node, uint64_t climb)
{
    const struct view *view = writer->view;
    struct html_bytes *columns = writer->page->nodes;
    uint32_t *function = &writer->functions[view->frame[node]];

    if (*function == NONE)
        *function = page_function(writer->page, view, view->frame[node]);
    html_bytes_number(&columns[PAGE_CLIMB], climb);
    html_bytes_number(&columns[PAGE_FRAME], *function * 2ull + is_inlined(writer, node));
    html_bytes_number(&columns[PAGE_SELF], view->self[node]);
    html_bytes_number(&columns[PAGE_CALLS], view->calls[node]);
    if (writer->diff) {
        html_bytes_number(&columns[PAGE_OLD_SELF], writer->diff->base_self[node]);
        html_bytes_number(&columns[PAGE_OLD_CALLS], writer->diff->base_calls[node]);
        html_bytes_number(&columns[PAGE_PRESENCE], writer->diff->presence[node]);
    }
    writer->nodes++;
}

/* The thread: function 0 of the page, with what it cost itself where that is known. */
static void put_thread(struct root_writer *writer, uint32_t top)
{
    static const struct view_frame thread = {
        .name = "(all)",
        .object = "",
        .symbol = "",
        .file = "",
        .function = NONE,
        .kind = FUNCTION_ROOT,
        .module_kind = MODULE_MARKER,
    };
    struct view_frame frame = thread;
    const struct view frames = {.profile = writer->view->profile, .frames = &frame};
    struct html_bytes *columns = writer->page->nodes;
    uint32_t function = page_function(writer->page, &frames, 0);
    const struct diff *diff = writer->diff;

    html_bytes_number(&columns[PAGE_CLIMB], 0);
    html_bytes_number(&columns[PAGE_FRAME], function * 2ull);
    html_bytes_number(&columns[PAGE_SELF], top == NONE ? 0 : writer->view->self[top]);
    html_bytes_number(&columns[PAGE_CALLS], 0);
    if (diff) {
        html_bytes_number(&columns[PAGE_OLD_SELF], top == NONE ? 0 : diff->base_self[top]);
        html_bytes_number(&columns[PAGE_OLD_CALLS], 0);
        html_bytes_number(&columns[PAGE_PRESENCE], DIFF_IN_BASE | DIFF_IN_NEW);
    }
    writer->nodes++;
}

/* Preorder, by links and parents alone: no stack, however deep the tree. */
static void put_below(struct root_writer *writer, const struct view_links *links, uint32_t top)
{
    uint32_t list = top == NONE ? (uint32_t)writer->view->node_count : top;
    uint32_t node = links->first_child[list];
    uint64_t climb = 0;

    while (node != NONE) {
        put_node(writer, node, climb);
        climb = 0;
        if (links->first_child[node] != NONE) {
            node = links->first_child[node];
            continue;
        }
        climb = 1;
        while (links->next_sibling[node] == NONE) {
            node = writer->view->parent[node];
            if (node == top)
                return;
            climb++;
        }
        node = links->next_sibling[node];
    }
}

void page_root(struct page *page, const struct view *view, const struct view_links *links,
               uint32_t top, const struct diff *diff, uint32_t thread, uint32_t part)
{
    struct root_writer writer = {.page = page, .view = view, .diff = diff};
    size_t bytes = view->frame_count * sizeof *writer.functions;

    writer.functions = memory_allocate(bytes);
    memset(writer.functions, 0xff, bytes);
    put_thread(&writer, top);
    put_below(&writer, links, top);
    PAGE_ROW(&page->roots, thread, part, writer.nodes);
    free(writer.functions);
}

static void write_number(struct html_stream *stream, uint64_t number)
{
    struct html_bytes bytes = {0};

    html_bytes_number(&bytes, number);
    html_stream_write(stream, &bytes);
    html_bytes_free(&bytes);
}

static void write_strings(const struct page *page, struct html_stream *stream)
{
    const struct profile *strings = page->strings;
    struct html_bytes lengths = {0}, texts = {0};

    for (uint32_t i = 0; i < strings->string_count; i++) {
        const char *text = profile_string(strings, i);
        html_bytes_number(&lengths, strlen(text));
        html_bytes_append(&texts, text, strlen(text));
    }
    write_number(stream, strings->string_count);
    html_stream_write(stream, &lengths);
    html_stream_write(stream, &texts);
    html_bytes_free(&lengths);
    html_bytes_free(&texts);
}

static void write_table(struct html_stream *stream, const struct page_table *table)
{
    write_number(stream, table->count);
    for (size_t i = 0; i < sizeof table->columns / sizeof *table->columns; i++)
        html_stream_write(stream, &table->columns[i]);
}

static void write_data(const struct page *page, struct html_stream *stream)
{
    struct html_bytes head = {0};

    html_bytes_append(&head, "TFPG", 4);
    html_bytes_number(&head, FORMAT_VERSION);
    html_bytes_number(&head, page->is_diff ? FLAG_DIFF : 0);
    html_stream_write(stream, &head);
    html_bytes_free(&head);
    write_strings(page, stream);
    write_number(stream, page->meta_count);
    html_stream_write(stream, &page->meta);
    write_table(stream, &page->modules);
    write_table(stream, &page->functions);
    write_table(stream, &page->processes);
    write_table(stream, &page->threads);
    write_table(stream, &page->parts);
    write_table(stream, &page->roots);
    for (size_t i = 0; i < PAGE_COLUMNS; i++)
        html_stream_write(stream, &page->nodes[i]);
    write_table(stream, &page->lines);
    write_number(stream, page->source_count);
    html_stream_write(stream, &page->sources);
}

void page_write(const struct page *page, FILE *stream)
{
    struct html_stream data;

    fwrite(viewer_page_head, 1, viewer_page_head_bytes, stream);
    html_stream_start(&data, stream);
    write_data(page, &data);
    html_stream_finish(&data);
    fwrite(viewer_page_tail, 1, viewer_page_tail_bytes, stream);
}

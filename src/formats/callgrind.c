/*
 * callgrind.c: callgrind.out, for KCachegrind and callgrind_annotate.
 *
 * The format is a call graph: what called what, not by which path. Each function has its own cost,
 * by line where the profile knows lines; each pair of caller and callee the number of calls and the
 * inclusive cost, counted once per path, so that recursion does not count itself again. Readers
 * take a line after "calls=0" for own cost, so a call is written as at least one: inlined functions
 * have no calls of their own.
 */
#include "common/map.h"
#include "common/memory.h"
#include "config.h"
#include "formats/formats.h"
#include "profile/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    uint32_t caller, callee;
    uint64_t calls, instructions;
    uint32_t open; /* how often it is on the path now */
};

/* The numbers that stand for names after their first use: "fn=(3) main", then "fn=(3)". */
struct names {
    struct profile *texts;
    uint8_t *written;
    size_t written_capacity;
};

struct callgrind {
    const struct view *view;
    FILE *stream;
    struct edge *edges;
    size_t edge_count, edge_capacity;
    struct map edge_of;
    uint64_t *self; /* by frame */
    struct names objects, files, functions;
    struct function_lines lines;
};

static void write_one_line(FILE *stream, const char *text)
{
    for (; *text; text++)
        putc(*text == '\n' || *text == '\r' ? ' ' : *text, stream);
}

static void write_name(struct callgrind *callgrind, struct names *names, const char *key,
                       const char *text, uint64_t number)
{
    size_t before = names->written_capacity;

    names->written = memory_grow(names->written, &names->written_capacity, number + 1, 1);
    memset(names->written + before, 0, names->written_capacity - before);
    fprintf(callgrind->stream, "%s=(%" PRIu64 ")", key, number);
    if (!names->written[number]) {
        putc(' ', callgrind->stream);
        write_one_line(callgrind->stream, text);
    }
    putc('\n', callgrind->stream);
    names->written[number] = 1;
}

static void write_text(struct callgrind *callgrind, struct names *names, const char *key,
                       const char *text)
{
    write_name(callgrind, names, key, text, profile_intern(names->texts, text) + 1);
}

static void write_position(struct callgrind *callgrind, uint32_t frame, const char *object_key,
                           const char *file_key, const char *function_key)
{
    const struct view_frame *row = &callgrind->view->frames[frame];

    write_text(callgrind, &callgrind->objects, object_key, *row->object ? row->object : "???");
    write_text(callgrind, &callgrind->files, file_key, *row->file ? row->file : "???");
    write_name(callgrind, &callgrind->functions, function_key, row->name, frame + 1);
}

static uint32_t edge_at(struct callgrind *callgrind, uint32_t node)
{
    const struct view *view = callgrind->view;
    uint32_t caller = view->frame[view->parent[node]], callee = view->frame[node];
    uint32_t *place = map_place(&callgrind->edge_of, map_pair(caller, callee));

    if (*place == MAP_ABSENT) {
        *array_push(callgrind->edges, callgrind->edge_count, callgrind->edge_capacity) =
            (struct edge){.caller = caller, .callee = callee};
        *place = (uint32_t)callgrind->edge_count - 1;
    }
    return *place;
}

static void enter_node(struct callgrind *callgrind, uint32_t node, const uint64_t *totals)
{
    const struct view *view = callgrind->view;

    callgrind->self[view->frame[node]] += view->self[node];
    if (view->parent[node] == NONE)
        return;
    uint32_t number = edge_at(callgrind, node); /* may move the edges */
    struct edge *edge = &callgrind->edges[number];
    edge->calls += view->calls[node];
    if (edge->open++ == 0)
        edge->instructions += totals[node];
}

static void leave_node(struct callgrind *callgrind, uint32_t node)
{
    if (callgrind->view->parent[node] == NONE)
        return;
    uint32_t number = edge_at(callgrind, node);
    callgrind->edges[number].open--;
}

static void collect_edges(struct callgrind *callgrind)
{
    const struct view *view = callgrind->view;
    struct view_links links = view_link(view);
    uint64_t *totals = view_totals(view);
    uint32_t node = links.first_child[view->node_count];

    while (node != NONE) {
        enter_node(callgrind, node, totals);
        if (links.first_child[node] != NONE) {
            node = links.first_child[node];
            continue;
        }
        while (node != NONE) {
            leave_node(callgrind, node);
            if (links.next_sibling[node] != NONE) {
                node = links.next_sibling[node];
                break;
            }
            node = view->parent[node];
        }
    }
    view_links_free(&links);
    free(totals);
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return (x->callee > y->callee) - (x->callee < y->callee);
}

/* By line, if the lines that the profile knows of this function are all of its cost here (a
 * transform may have moved some); else on the line where it is declared. */
static void write_self(struct callgrind *callgrind, uint32_t frame)
{
    const struct view_frame *row = &callgrind->view->frames[frame];
    size_t first = 0, end = 0;
    uint64_t sum = 0;

    if (row->function != NONE)
        function_lines_range(&callgrind->lines, row->function, &first, &end);
    for (size_t i = first; i < end; i++)
        sum += callgrind->lines.rows[i].line.instructions;
    if (first == end || sum != callgrind->self[frame]) {
        fprintf(callgrind->stream, "%u %" PRIu64 "\n", row->line, callgrind->self[frame]);
        return;
    }
    const char *file = *row->file ? row->file : "???";
    for (size_t i = first; i < end; i++) {
        const struct source_line *line = &callgrind->lines.rows[i].line;
        const char *line_file = profile_string(callgrind->view->profile, line->file);
        if (!*line_file)
            line_file = "???";
        if (strcmp(line_file, file))
            write_text(callgrind, &callgrind->files, "fi", line_file);
        file = line_file;
        fprintf(callgrind->stream, "%u %" PRIu64 "\n", line->line, line->instructions);
    }
    if (strcmp(file, *row->file ? row->file : "???"))
        write_text(callgrind, &callgrind->files, "fe", *row->file ? row->file : "???");
}

static void write_edge(struct callgrind *callgrind, const struct edge *edge)
{
    const struct view_frame *caller = &callgrind->view->frames[edge->caller];
    const struct view_frame *callee = &callgrind->view->frames[edge->callee];

    write_position(callgrind, edge->callee, "cob", "cfi", "cfn");
    fprintf(callgrind->stream, "calls=%" PRIu64 " %u\n%u %" PRIu64 "\n",
            edge->calls ? edge->calls : 1, callee->line, caller->line, edge->instructions);
}

static void write_functions(struct callgrind *callgrind)
{
    const struct view *view = callgrind->view;
    uint8_t *used = memory_allocate_zeroed(view->frame_count, 1);
    size_t edge = 0;

    for (size_t i = 0; i < view->node_count; i++)
        used[view->frame[i]] = 1;
    for (uint32_t frame = 0; frame < view->frame_count; frame++) {
        if (!used[frame])
            continue;
        putc('\n', callgrind->stream);
        write_position(callgrind, frame, "ob", "fl", "fn");
        write_self(callgrind, frame);
        for (; edge < callgrind->edge_count && callgrind->edges[edge].caller == frame; edge++)
            write_edge(callgrind, &callgrind->edges[edge]);
    }
    free(used);
}

static void names_free(struct names *names)
{
    profile_free(names->texts);
    free(names->written);
}

static int callgrind_write(const struct view *view, const struct export_options *options,
                           FILE *stream, struct error *error)
{
    struct callgrind callgrind = {.view = view, .stream = stream};
    uint64_t total = view_total(view);

    (void)error;
    callgrind.self = memory_allocate_zeroed(view->frame_count, sizeof *callgrind.self);
    callgrind.objects.texts = profile_new();
    callgrind.files.texts = profile_new();
    function_lines_collect(&callgrind.lines, view->profile);
    collect_edges(&callgrind);
    if (callgrind.edge_count)
        qsort(callgrind.edges, callgrind.edge_count, sizeof *callgrind.edges, compare_edges);
    fputs("# callgrind format\nversion: 1\ncreator: trueflame-" TRUEFLAME_VERSION "\ncmd: ",
          stream);
    write_one_line(stream, options->title);
    fprintf(stream,
            "\npart: 1\n\npositions: line\nevent: Ir : Instructions\nevents: Ir\n"
            "summary: %" PRIu64 "\n",
            total);
    write_functions(&callgrind);
    fprintf(stream, "\ntotals: %" PRIu64 "\n", total);
    names_free(&callgrind.objects);
    names_free(&callgrind.files);
    names_free(&callgrind.functions);
    function_lines_free(&callgrind.lines);
    map_free(&callgrind.edge_of);
    free(callgrind.edges);
    free(callgrind.self);
    return OK;
}

const struct export_format format_callgrind = {
    .name = "callgrind",
    .summary = "callgrind.out, for KCachegrind (a call graph)",
    .write = callgrind_write,
};

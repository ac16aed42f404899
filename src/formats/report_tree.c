/*
 * report_tree.c: the call tree, largest subtree first.
 *
 * A tree of a program has more frames than anyone reads, so small and very deep ones are left out;
 * the last lines say how many, what they cost, and which option shows them. As JSON nothing is left
 * out: one object a node, parents first, `parent` being an index into the list.
 */
#include "common/json.h"
#include "formats/order.h"
#include "formats/report.h"
#include "formats/text.h"

#include <stdlib.h>
#include <string.h>

static void write_json(const struct view *view, const uint64_t *totals, FILE *stream)
{
    struct json json;

    json_start(&json, stream);
    json.pretty = true;
    json_object(&json);
    json_key_number(&json, "total_instructions", view_total(view));
    json_key(&json, "nodes");
    json_array(&json);
    for (size_t i = 0; i < view->node_count; i++) {
        const struct view_frame *frame = &view->frames[view->frame[i]];
        json_object(&json);
        json_key(&json, "parent");
        if (view->parent[i] == NONE)
            json_null(&json);
        else
            json_number(&json, view->parent[i]);
        json_key_string(&json, "name", frame->name);
        json_key_string(&json, "object", frame->object);
        json_key(&json, "inlined");
        json_bool(&json, view->flags[i] & VIEW_INLINED);
        json_key_number(&json, "self", view->self[i]);
        json_key_number(&json, "total", totals[i]);
        json_key_number(&json, "calls", view->calls[i]);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
}

struct cut {
    size_t small_count, deep_count;
    uint64_t small_instructions, deep_instructions;
};

static void write_node(const struct view *view, uint32_t node, size_t depth, uint64_t node_total,
                       uint64_t total, const struct report_options *options, FILE *stream)
{
    char inclusive[GROUPED_BYTES], self[GROUPED_BYTES];
    double percent = text_percent(node_total, total);
    int column = text_column(options->width, 19, total);
    bool inlined = view->flags[node] & VIEW_INLINED;
    size_t used = (size_t)column * 2 + 9 + 1 + 2 + 2 * depth + (inlined ? strlen(" (inlined)") : 0);

    fprintf(stream, "%*s %s%7.2f%%%s %*s  %*s", column, text_grouped(inclusive, node_total),
            text_heat(percent, options->colour), percent, text_plain(options->colour), column,
            text_grouped(self, view->self[node]), 2 * (int)depth, "");
    text_write_shortened(stream, view->frames[view->frame[node]].name,
                         text_left(options->width, used));
    if (inlined)
        fprintf(stream, " %s(inlined)%s", text_faint(options->colour), text_plain(options->colour));
    putc('\n', stream);
}

static void write_nodes(const struct view *view, const uint64_t *totals,
                        const struct report_options *options, struct cut *cut, FILE *stream)
{
    struct view_links links = order_by_total(view, totals);
    uint64_t total = view_total(view);
    uint32_t node = links.first_child[view->node_count];
    size_t depth = 0;

    while (node != NONE) {
        bool small = text_percent(totals[node], total) < options->least_percent;
        bool deep = depth >= options->most_depth;
        if (!small && !deep) {
            write_node(view, node, depth, totals[node], total, options, stream);
            if (links.first_child[node] != NONE) {
                node = links.first_child[node];
                depth++;
                continue;
            }
        } else if (small) {
            cut->small_count++;
            cut->small_instructions += totals[node];
        } else {
            cut->deep_count++;
            cut->deep_instructions += totals[node];
        }
        while (node != NONE && links.next_sibling[node] == NONE) {
            node = view->parent[node];
            depth--;
        }
        if (node != NONE)
            node = links.next_sibling[node];
    }
    view_links_free(&links);
}

void report_tree(const struct view *view, const struct report_options *options, FILE *stream)
{
    uint64_t *totals = view_totals(view);
    struct cut cut = {0};
    char grouped[GROUPED_BYTES];

    if (options->json) {
        write_json(view, totals, stream);
        free(totals);
        return;
    }
    fprintf(stream, "%s instructions\n\n", text_grouped(grouped, view_total(view)));
    int column = text_column(options->width, 19, view_total(view));
    fprintf(stream, "%*s %8s %*s  %s\n", column, "total", "", column, "self", "function");
    write_nodes(view, totals, options, &cut, stream);
    if (cut.small_count)
        fprintf(stream,
                "\nnot shown: %zu subtrees below %g%% with %s instructions in all "
                "(--min-percent)\n",
                cut.small_count, options->least_percent,
                text_grouped(grouped, cut.small_instructions));
    if (cut.deep_count)
        fprintf(stream,
                "\nnot shown: %zu subtrees below depth %zu with %s instructions in all "
                "(--depth)\n",
                cut.deep_count, options->most_depth, text_grouped(grouped, cut.deep_instructions));
    free(totals);
}

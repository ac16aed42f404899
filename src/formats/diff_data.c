/*
 * diff_data.c: a diff for programs: folded lines with two counts, and JSON.
 */
#include "common/json.h"
#include "common/memory.h"
#include "formats/diffs.h"
#include "formats/order.h"

#include <inttypes.h>
#include <stdlib.h>

/* The nodes in the order of folded lines: depth first, siblings by name. */
static uint32_t *nodes_by_path(const struct view *tree)
{
    struct view_links links = order_by_name(tree);
    uint32_t *nodes = memory_allocate(tree->node_count * sizeof *nodes);
    uint32_t node = links.first_child[tree->node_count];
    size_t count = 0;

    while (node != NONE) {
        nodes[count++] = node;
        if (links.first_child[node] != NONE) {
            node = links.first_child[node];
            continue;
        }
        while (node != NONE && links.next_sibling[node] == NONE)
            node = tree->parent[node];
        if (node != NONE)
            node = links.next_sibling[node];
    }
    view_links_free(&links);
    return nodes;
}

static int folded_write(const struct diff *diff, const struct diff_options *options, FILE *stream,
                        struct error *error)
{
    uint32_t *nodes = nodes_by_path(diff->tree);

    (void)error;
    for (size_t i = 0; i < diff->tree->node_count; i++) {
        uint64_t base = diff->base_self[nodes[i]], new = diff->tree->self[nodes[i]];
        if (base == new && !(options->all && new))
            continue;
        char *path = diff_path(diff, nodes[i]);
        fprintf(stream, "%s %" PRIu64 " %" PRIu64 "\n", path, base, new);
        free(path);
    }
    free(nodes);
    return OK;
}

static void json_costs(struct json *json, const char *name, uint64_t base, uint64_t new)
{
    json_key(json, name);
    json_object(json);
    json_key_number(json, "base", base);
    json_key_number(json, "new", new);
    json_key_signed(json, "change", diff_change(base, new));
    json_end_object(json);
}

static void json_functions(struct json *json, const struct diff *diff)
{
    struct diff_function *functions = diff_functions(diff);
    struct diff_rows rows = diff_changed_functions(diff, functions);

    json_key(json, "functions");
    json_array(json);
    for (size_t i = 0; i < rows.count; i++) {
        const struct view_frame *frame = &diff->tree->frames[rows.rows[i].index];
        const struct diff_function *cost = &functions[rows.rows[i].index];
        json_object(json);
        json_key_string(json, "name", frame->name);
        json_key_string(json, "object", frame->object);
        json_costs(json, "self", cost->base.self, cost->new.self);
        json_costs(json, "total", cost->base.total, cost->new.total);
        json_costs(json, "calls", cost->base.calls, cost->new.calls);
        json_end_object(json);
    }
    json_end_array(json);
    free(rows.rows);
    free(functions);
}

static void json_paths(struct json *json, const struct diff *diff, bool all)
{
    uint32_t *nodes = nodes_by_path(diff->tree);

    json_key(json, "paths");
    json_array(json);
    for (size_t i = 0; i < diff->tree->node_count; i++) {
        uint32_t node = nodes[i];
        const char *inlining = diff_inlining(diff, node);
        bool changed = diff->base_self[node] != diff->tree->self[node] ||
                       diff->base_calls[node] != diff->tree->calls[node];
        if (!changed && !inlining && !all)
            continue;
        char *path = diff_path(diff, node);
        json_object(json);
        json_key_string(json, "path", path);
        json_key_string(json, "status", changed ? diff_status(diff, node) : "same");
        if (inlining)
            json_key_string(json, "inlining", inlining);
        json_costs(json, "self", diff->base_self[node], diff->tree->self[node]);
        json_costs(json, "total", diff->base_total[node], diff->new_total[node]);
        json_costs(json, "calls", diff->base_calls[node], diff->tree->calls[node]);
        json_end_object(json);
        free(path);
    }
    json_end_array(json);
    free(nodes);
}

static int json_write(const struct diff *diff, const struct diff_options *options, FILE *stream,
                      struct error *error)
{
    struct json json;

    (void)error;
    json_start(&json, stream);
    json.pretty = true;
    json_object(&json);
    json_key_string(&json, "base", options->base_name);
    json_key_string(&json, "new", options->new_name);
    json_costs(&json, "total_instructions", diff->base_sum, diff->new_sum);
    json_functions(&json, diff);
    json_paths(&json, diff, options->all);
    json_end_object(&json);
    return OK;
}

const struct diff_format diff_folded = {
    .name = "folded",
    .summary = "paths with two counts: frame;frame BASE NEW",
    .long_paths = true,
    .write = folded_write,
};

const struct diff_format diff_json = {
    .name = "json",
    .summary = "functions and paths that changed, for programs",
    .long_paths = true,
    .write = json_write,
};

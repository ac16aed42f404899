#include "formats/order.h"

#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

struct named_frame {
    const char *name;
    uint32_t frame;
};

static int compare_names(const void *a, const void *b)
{
    const struct named_frame *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->frame > y->frame) - (x->frame < y->frame);
}

/* By frame: its place among all frames in order of name. */
static uint32_t *rank_frames(const struct view *view)
{
    struct named_frame *sorted = memory_allocate(view->frame_count * sizeof *sorted);
    uint32_t *ranks = memory_allocate(view->frame_count * sizeof *ranks);

    for (uint32_t i = 0; i < view->frame_count; i++)
        sorted[i] = (struct named_frame){view->frames[i].name, i};
    if (view->frame_count)
        qsort(sorted, view->frame_count, sizeof *sorted, compare_names);
    for (uint32_t i = 0; i < view->frame_count; i++)
        ranks[sorted[i].frame] = i;
    free(sorted);
    return ranks;
}

static size_t node_key(const struct view *view, const uint32_t *ranks, size_t node)
{
    return 2 * (size_t)ranks[view->frame[node]] + (view->flags[node] & VIEW_INLINED);
}

/* Node numbers in order of name: a counting sort. */
static uint32_t *sort_nodes(const struct view *view)
{
    uint32_t *ranks = rank_frames(view);
    size_t key_count = 2 * view->frame_count + 1;
    uint32_t *starts = memory_allocate_zeroed(key_count + 1, sizeof *starts);
    uint32_t *nodes = memory_allocate(view->node_count * sizeof *nodes);

    for (size_t i = 0; i < view->node_count; i++)
        starts[node_key(view, ranks, i) + 1]++;
    for (size_t i = 1; i <= key_count; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < view->node_count; i++)
        nodes[starts[node_key(view, ranks, i)]++] = (uint32_t)i;
    free(starts);
    free(ranks);
    return nodes;
}

/* Hanging nodes into their parents' lists last first leaves every list in order. */
static struct view_links link_in_order(const struct view *view, const uint32_t *nodes)
{
    size_t count = view->node_count;
    struct view_links links = {
        .first_child = memory_allocate((count + 1) * sizeof(uint32_t)),
        .next_sibling = memory_allocate((count + 1) * sizeof(uint32_t)),
    };

    memset(links.first_child, 0xff, (count + 1) * sizeof(uint32_t));
    for (size_t i = count; i-- > 0;) {
        uint32_t node = nodes[i];
        size_t parent = view->parent[node] == NONE ? count : view->parent[node];
        links.next_sibling[node] = links.first_child[parent];
        links.first_child[parent] = node;
    }
    return links;
}

struct view_links order_by_name(const struct view *view)
{
    uint32_t *nodes = sort_nodes(view);
    struct view_links links = link_in_order(view, nodes);

    free(nodes);
    return links;
}

struct costed_node {
    uint64_t total;
    uint32_t node, place; /* place: in order of name */
};

static int compare_totals(const void *a, const void *b)
{
    const struct costed_node *x = a, *y = b;

    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

struct view_links order_by_total(const struct view *view, const uint64_t *totals)
{
    uint32_t *nodes = sort_nodes(view);
    struct costed_node *sorted = memory_allocate(view->node_count * sizeof *sorted);

    for (uint32_t i = 0; i < view->node_count; i++)
        sorted[i] = (struct costed_node){totals[nodes[i]], nodes[i], i};
    if (view->node_count)
        qsort(sorted, view->node_count, sizeof *sorted, compare_totals);
    for (size_t i = 0; i < view->node_count; i++)
        nodes[i] = sorted[i].node;
    struct view_links links = link_in_order(view, nodes);
    free(sorted);
    free(nodes);
    return links;
}
